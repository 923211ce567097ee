// Package types holds the requests and answers of the API as JSON, for the server
// (internal/api) and the client (internal/api/client). Types of the domain that have a
// JSON form of their own (run.Order, run.Application, run.Result) are not repeated here.
package types

// Problem is the body of an answer with an error: RFC 9457, application/problem+json.
type Problem struct {
	Type     string   `json:"type" doc:"about:blank: the status describes the problem" example:"about:blank"`
	Title    string   `json:"title" doc:"text of the status"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail,omitempty" doc:"what is wrong, and what to do"`
	Instance string   `json:"instance,omitempty" doc:"path of the request"`
	Code     string   `json:"code" doc:"for programs; stable" example:"not_found"`
	Errors   []Detail `json:"errors,omitempty" nullable:"false" doc:"invalid values"`
	Request  string   `json:"request_id" doc:"the request's id in the master's log"`
}

// Detail describes one invalid value of a request.
type Detail struct {
	Pointer string `json:"pointer" doc:"RFC 6901 pointer into the body; ?NAME: a parameter of the query" example:"/options/guards/p99_seconds"`
	Detail  string `json:"detail"`
}

// The codes of problems.
const (
	Malformed        = "malformed"             // 400: not JSON, or a value of another type
	UnknownField     = "unknown_field"         // 400
	BadParameter     = "bad_parameter"         // 400: a parameter of the query
	Unauthenticated  = "unauthenticated"       // 401
	Forbidden        = "forbidden"             // 403
	SessionRequired  = "session_required"      // 403: API tokens are refused
	CrossOrigin      = "cross_origin"          // 403: the request comes from another site's page
	NotFound         = "not_found"             // 404
	MethodNotAllowed = "method_not_allowed"    // 405
	Timeout          = "timeout"               // 408: the body did not arrive in time
	BadArchive       = "bad_archive"           // 422: not the archive of a run
	Conflict         = "conflict"              // 409
	KeyReused        = "key_reused"            // 409: the idempotency key belongs to another request
	TooOld           = "too_old"               // 410: events after that number are no longer stored
	Stale            = "stale"                 // 412: the record has changed since it was read
	TooLarge         = "too_large"             // 413
	UnsupportedMedia = "unsupported_media"     // 415
	Misdirected      = "misdirected"           // 421: Host is not a name of this master
	Invalid          = "invalid"               // 422: a value is not allowed
	NoPrecondition   = "precondition_required" // 428: If-Match is missing
	TooMany          = "too_many_requests"     // 429
	Internal         = "internal"              // 500
	Unavailable      = "unavailable"           // 503
	NoSpace          = "no_space"              // 507
)
