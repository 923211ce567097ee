package scenario

import (
	"encoding/json"
	"os"
	"sync"
)

// ParamsEnv is the environment variable in which gobench passes the values of --set to an
// executor, as a JSON object.
const ParamsEnv = "GOBENCH_PARAMS"

// Parameter is a declared parameter of a scenario.
type Parameter struct {
	Name, Default, Help string
	Value               string // its value in this run
	Given               bool   // set by --set
}

var params struct {
	mu   sync.Mutex
	once sync.Once
	set  map[string]string // from --set
	all  []Parameter
}

// Param declares a parameter of the scenario and returns its value: that of --set NAME=VALUE,
// or def without it. The result is never nil. A parameter with an empty def must be set;
// otherwise the run is refused, after Param has returned "", as it is if a name is declared
// twice. Call it in a package variable, or first in export:
//
//	var url = scenario.Param("url", "http://localhost:8080", "where to send requests")
//
// gobench run FILE --help lists all of them. help is one line. Any number of goroutines may
// call Param at once.
func Param(name, def, help string) *string {
	params.once.Do(func() {
		// If the text is invalid, the defaults stay and the run is refused later.
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

// Params returns a copy of the parameters declared so far, in the order of their declarations;
// nil before the first.
func Params() []Parameter {
	params.mu.Lock()
	defer params.mu.Unlock()
	return append([]Parameter(nil), params.all...)
}
