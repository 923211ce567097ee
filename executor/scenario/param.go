package scenario

import (
	"encoding/json"
	"os"
	"sync"
)

// ParamsEnv names the environment variable by which gobench gives an executor the
// values of --set, as a JSON object.
const ParamsEnv = "GOBENCH_PARAMS"

// Parameter is what Param has declared.
type Parameter struct {
	Name, Default, Help string
	Value               string // what the scenario uses
	Given               bool   // by --set
}

var params struct {
	mu   sync.Mutex
	once sync.Once
	set  map[string]string // by --set
	all  []Parameter
}

// Param declares a parameter of the scenario and gives its value: what --set
// NAME=VALUE says, else def. A parameter with an empty def has to be set, or the
// run is refused. Call it in a package variable, or first in export:
//
//	var url = scenario.Param("url", "http://localhost:8080", "where to send requests")
//
// gobench run FILE --help lists all of them. Help is one line.
func Param(name, def, help string) *string {
	params.once.Do(func() {
		// Other text than gobench's leaves the defaults; the run is then refused by name.
		_ = json.Unmarshal([]byte(os.Getenv(ParamsEnv)), &params.set)
	})
	params.mu.Lock()
	defer params.mu.Unlock()
	p := Parameter{Name: name, Default: def, Help: help, Value: def}
	if v, ok := params.set[name]; ok {
		p.Value, p.Given = v, true
	}
	params.all = append(params.all, p)
	return &p.Value
}

// Params gives the parameters declared so far, in order.
func Params() []Parameter {
	params.mu.Lock()
	defer params.mu.Unlock()
	return append([]Parameter(nil), params.all...)
}
