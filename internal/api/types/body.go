package types

import (
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/run"
)

// Information is what anybody may know of a master.
type Information struct {
	Product string `json:"product" doc:"gobench"`
	Setup   bool   `json:"setup" doc:"there is no user yet: the setup token makes the first one"`
}

// Setup makes the first user, an admin.
type Setup struct {
	Token    string `json:"token" maxLength:"200" doc:"the setup token that the master printed"`
	Name     string `json:"name" maxLength:"64"`
	Password string `json:"password" maxLength:"1024"`
}

// Login is a user's name and password.
type Login struct {
	Name     string `json:"name" maxLength:"256"`
	Password string `json:"password" maxLength:"4096"`
}

// Me is whoever asks.
type Me struct {
	User    auth.User   `json:"user"`
	Role    auth.Role   `json:"role" doc:"in force: a token's may be less than its owner's"`
	Token   *auth.Token `json:"token,omitempty" doc:"that was asked with"`
	Expires time.Time   `json:"expires,omitzero" doc:"of the session or token"`
	Version string      `json:"version" doc:"of gobench"`
}

// Password changes one's own.
type Password struct {
	Old string `json:"old" maxLength:"4096"`
	New string `json:"new" maxLength:"1024"`
}

// NewUser makes a user.
type NewUser struct {
	Name     string    `json:"name" maxLength:"64"`
	Role     auth.Role `json:"role" enum:"viewer,tester,operator,admin"`
	Password string    `json:"password" maxLength:"1024"`
}

// UserChange changes what it names of a user.
type UserChange struct {
	Role     *auth.Role `json:"role,omitempty" enum:"viewer,tester,operator,admin"`
	Disabled *bool      `json:"disabled,omitempty" doc:"true ends the user's sessions at once and refuses the tokens"`
	Password *string    `json:"password,omitempty" maxLength:"1024"`
}

// NewToken makes an API token of one's own.
type NewToken struct {
	Name string    `json:"name" maxLength:"128" doc:"what it is for"`
	Role auth.Role `json:"role,omitempty" enum:"viewer,tester,operator,admin" doc:"at most one's own; none: one's own"`
	Days int       `json:"days,omitempty" minimum:"1" maximum:"3650" doc:"until it expires; none: 90"`
}

// MadeToken is a new API token with its text, which is shown this once.
type MadeToken struct {
	auth.Token
	Text string `json:"text" doc:"gbt_ID_SECRET: send it as Authorization: Bearer TEXT"`
}

// NewJoinToken makes a token for one agent.
type NewJoinToken struct {
	Minutes int `json:"minutes,omitempty" minimum:"1" maximum:"1440" doc:"until it expires; none: 10"`
}

// MadeJoinToken is a new join token with its text, which is shown this once.
type MadeJoinToken struct {
	run.JoinToken
	Text string `json:"text" doc:"for gobench agent --join TEXT"`
}

// NewApplication is an application as a user writes it.
type NewApplication struct {
	Name     string     `json:"name" maxLength:"512"`
	Tags     []string   `json:"tags,omitempty" nullable:"false"`
	Scenario string     `json:"scenario" doc:"Go file"`
	File     string     `json:"file,omitempty" maxLength:"256" doc:"its name, as messages have it; none: scenario.go"`
	GoMod    string     `json:"go_mod,omitempty"`
	GoSum    string     `json:"go_sum,omitempty"`
	Files    []run.File `json:"files,omitempty" nullable:"false" doc:"further Go files, and data that the scenario reads"`
}

// Submission asks for a run: of an application, or of a source with a name, which then
// becomes an application.
type Submission struct {
	Application string      `json:"application,omitempty" maxLength:"64" doc:"id; else name and source"`
	Name        string      `json:"name,omitempty" maxLength:"512"`
	Tags        []string    `json:"tags,omitempty" nullable:"false"`
	Source      *run.Source `json:"source,omitempty"`
	Options     run.Options `json:"options,omitzero"`
}

// Control changes a run's load.
type Control struct {
	What  string   `json:"what" enum:"pause,resume,scale"`
	Class string   `json:"class,omitempty" maxLength:"256" doc:"of scale; none: the only one"`
	Users *int64   `json:"users,omitempty" minimum:"0" doc:"of scale"`
	Rate  *float64 `json:"rate,omitempty" minimum:"0" doc:"of scale"`
}

// Profile asks for a profile of an executor.
type Profile struct {
	Agent   string  `json:"agent,omitempty" maxLength:"64" doc:"id or name; none: the only one"`
	Kind    string  `json:"kind" maxLength:"32" doc:"as in gobench profile: cpu, heap, ..."`
	Seconds float64 `json:"seconds,omitempty" minimum:"0" maximum:"600" doc:"of cpu and trace; none: 30"`
}

// StopAll is the kill switch.
type StopAll struct {
	Queued bool `json:"queued,omitempty" doc:"cancel also what waits"`
}

// Stopped are the runs that StopAll has cancelled.
type Stopped struct {
	Runs []string `json:"runs" nullable:"false"`
}

// Page is a part of what there is many of, the newest first.
type Page[T any] struct {
	Items []T    `json:"items" nullable:"false"`
	Next  string `json:"next,omitempty" doc:"after=NEXT gives the next page; none: this is the last"`
}

// List is all that there is.
type List[T any] struct {
	Items []T `json:"items" nullable:"false"`
}

// Series are a run's intervals.
type Series struct {
	Run       string         `json:"run"`
	Agent     string         `json:"agent,omitempty" doc:"none: of all"`
	Intervals []run.Interval `json:"intervals" nullable:"false"`
}
