// Package types holds what the API takes and gives, as JSON: both internal/api, which
// serves it, and internal/api/client, which asks, speak these types. What the domain itself
// has a JSON form for (run.Order, run.Application, run.Result) is said as it is.
package types

// Problem is an error as the API answers it: RFC 9457, application/problem+json.
type Problem struct {
	Type     string   `json:"type" doc:"what kind of problem; about:blank: the status says it" example:"about:blank"`
	Title    string   `json:"title" doc:"the status in words"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail,omitempty" doc:"what is wrong here, and what to do"`
	Instance string   `json:"instance,omitempty" doc:"path of the request"`
	Code     string   `json:"code" doc:"for programs; it does not change" example:"not_found"`
	Errors   []Detail `json:"errors,omitempty" nullable:"false" doc:"what is wrong with what was sent"`
	Request  string   `json:"request_id" doc:"finds the request in the log"`
}

// Detail is what is wrong with one value of what was sent.
type Detail struct {
	Pointer string `json:"pointer" doc:"RFC 6901 pointer into the body; ?NAME: a parameter of the query" example:"/options/guards/p99_seconds"`
	Detail  string `json:"detail"`
}

// The codes of problems.
const (
	Malformed        = "malformed"             // 400: not what JSON or this API can be
	UnknownField     = "unknown_field"         // 400
	BadParameter     = "bad_parameter"         // 400: of the query
	Unauthenticated  = "unauthenticated"       // 401
	Forbidden        = "forbidden"             // 403
	SessionRequired  = "session_required"      // 403: an API token can't do this
	CrossOrigin      = "cross_origin"          // 403: another site's page asks
	NotFound         = "not_found"             // 404
	MethodNotAllowed = "method_not_allowed"    // 405
	Timeout          = "timeout"               // 408: the body did not come in time
	BadArchive       = "bad_archive"           // 422: not the archive of a run
	Conflict         = "conflict"              // 409
	KeyReused        = "key_reused"            // 409: the idempotency key was of another request
	Stale            = "stale"                 // 412: somebody has changed it meanwhile
	TooLarge         = "too_large"             // 413
	UnsupportedMedia = "unsupported_media"     // 415
	Misdirected      = "misdirected"           // 421: Host is none of this master's names
	Invalid          = "invalid"               // 422: a value can't be
	NoPrecondition   = "precondition_required" // 428: If-Match is missing
	TooMany          = "too_many_requests"     // 429
	Internal         = "internal"              // 500
	Unavailable      = "unavailable"           // 503
	NoSpace          = "no_space"              // 507
)
