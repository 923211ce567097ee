package types

import (
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/run"
)

// Information is what is public about a master.
type Information struct {
	Product string `json:"product" doc:"gobench"`
	Setup   bool   `json:"setup" doc:"there is no user yet: create the first one with the setup token"`
}

// Setup is a request to create the first user, an admin.
type Setup struct {
	Token    string `json:"token" maxLength:"200" doc:"the setup token that the master printed"`
	Name     string `json:"name" maxLength:"64"`
	Password string `json:"password" maxLength:"1024"`
}

// Login is a request to start a session.
type Login struct {
	Name     string `json:"name" maxLength:"256"`
	Password string `json:"password" maxLength:"4096"`
}

// Me is the user and the login of a request.
type Me struct {
	User    auth.User   `json:"user"`
	Role    auth.Role   `json:"role" doc:"the effective role: a token may have less than its owner"`
	Token   *auth.Token `json:"token,omitempty" doc:"of the request; unset with a session"`
	Expires time.Time   `json:"expires,omitzero" doc:"of the session or token"`
	Version string      `json:"version" doc:"of gobench"`
}

// Password is a request to change the user's own password.
type Password struct {
	Old string `json:"old" maxLength:"4096"`
	New string `json:"new" maxLength:"1024"`
}

// NewUser is a request to create a user.
type NewUser struct {
	Name     string    `json:"name" maxLength:"64"`
	Role     auth.Role `json:"role" enum:"viewer,tester,operator,admin"`
	Password string    `json:"password" maxLength:"1024"`
}

// UserChange is a request to change the fields of a user that are set.
type UserChange struct {
	Role     *auth.Role `json:"role,omitempty" enum:"viewer,tester,operator,admin"`
	Disabled *bool      `json:"disabled,omitempty" doc:"true ends the user's sessions at once and refuses the tokens"`
	Password *string    `json:"password,omitempty" maxLength:"1024"`
}

// NewToken is a request to create an API token of the user.
type NewToken struct {
	Name string    `json:"name" maxLength:"128" doc:"what it is for"`
	Role auth.Role `json:"role,omitempty" enum:"viewer,tester,operator,admin" doc:"at most the user's; unset: the user's"`
	Days int       `json:"days,omitempty" minimum:"1" maximum:"3650" doc:"until it expires; unset: 90"`
}

// MadeToken is a new API token with its text, which is not shown again.
type MadeToken struct {
	auth.Token
	Text string `json:"text" doc:"gbt_ID_SECRET: send it as Authorization: Bearer TEXT"`
}

// NewJoinToken is a request to create a token for one agent.
type NewJoinToken struct {
	Minutes int `json:"minutes,omitempty" minimum:"1" maximum:"1440" doc:"until it expires; unset: 10"`
}

// MadeJoinToken is a new join token with its text, which is not shown again.
type MadeJoinToken struct {
	run.JoinToken
	Text string `json:"text" doc:"for gobench agent --join TEXT"`
}

// NewApplication is a request to create or replace an application.
type NewApplication struct {
	Name     string     `json:"name" maxLength:"512"`
	Tags     []string   `json:"tags,omitempty" nullable:"false"`
	Scenario string     `json:"scenario" doc:"Go file"`
	File     string     `json:"file,omitempty" maxLength:"256" doc:"name of the scenario's file, for messages; unset: scenario.go"`
	GoMod    string     `json:"go_mod,omitempty"`
	GoSum    string     `json:"go_sum,omitempty"`
	Files    []run.File `json:"files,omitempty" nullable:"false" doc:"further Go files, and data that the scenario reads"`
}

// Submission is a request to queue a run: of an application, or of a source with a name,
// which becomes an application.
type Submission struct {
	Application string      `json:"application,omitempty" maxLength:"64" doc:"id; unset: name and source are needed"`
	Name        string      `json:"name,omitempty" maxLength:"512"`
	Tags        []string    `json:"tags,omitempty" nullable:"false"`
	Source      *run.Source `json:"source,omitempty"`
	Options     run.Options `json:"options,omitzero"`
}

// Control is a request to change a run's load.
type Control struct {
	What  string   `json:"what" enum:"pause,resume,scale"`
	Class string   `json:"class,omitempty" maxLength:"256" doc:"for scale; unset: the only class"`
	Users *int64   `json:"users,omitempty" minimum:"0" doc:"for scale"`
	Rate  *float64 `json:"rate,omitempty" minimum:"0" doc:"for scale"`
}

// Profile is a request for a profile of an executor.
type Profile struct {
	Agent   string  `json:"agent,omitempty" maxLength:"64" doc:"id or name; unset: the first agent"`
	Kind    string  `json:"kind" maxLength:"32" doc:"as in gobench profile: cpu, heap, ..."`
	Seconds float64 `json:"seconds,omitempty" minimum:"0" maximum:"600" doc:"for cpu and trace; unset: 30"`
}

// StopAll is a request to cancel the active run.
type StopAll struct {
	Queued bool `json:"queued,omitempty" doc:"cancel queued runs too"`
}

// Stopped holds the ids of the runs that StopAll cancelled.
type Stopped struct {
	Runs []string `json:"runs" nullable:"false"`
}

// Page is a part of a list, newest first.
type Page[T any] struct {
	Items []T    `json:"items" nullable:"false"`
	Next  string `json:"next,omitempty" doc:"next page: after=NEXT; unset on the last page"`
}

// List is a complete list.
type List[T any] struct {
	Items []T `json:"items" nullable:"false"`
}

// Series holds a run's intervals.
type Series struct {
	Run       string         `json:"run"`
	Agent     string         `json:"agent,omitempty" doc:"unset: of all agents"`
	Intervals []run.Interval `json:"intervals" nullable:"false"`
}
