package check

import (
	"fmt"
	"strings"
)

// orphanQueries count the rows without an owner: I11.
var orphanQueries = []struct{ what, query string }{
	{"transitions of runs that are not there", `SELECT COUNT(*) FROM transitions WHERE run NOT IN (SELECT number FROM runs)`},
	{"results of runs that are not there", `SELECT COUNT(*) FROM results WHERE run NOT IN (SELECT number FROM runs)`},
	{"batches of runs that are not there", `SELECT COUNT(*) FROM batches WHERE run NOT IN (SELECT number FROM runs)`},
	{"batch_ranges of runs that are not there", `SELECT COUNT(*) FROM batch_ranges WHERE run NOT IN (SELECT number FROM runs)`},
	{"executors of runs that are not there", `SELECT COUNT(*) FROM executors WHERE run NOT IN (SELECT number FROM runs)`},
	{"totals of runs that are not there", `SELECT COUNT(*) FROM totals WHERE run NOT IN (SELECT number FROM runs)`},
	{"series of runs that are not there", `SELECT COUNT(*) FROM series WHERE run NOT IN (SELECT number FROM runs)`},
	{"runs without transitions", `SELECT COUNT(*) FROM runs WHERE number NOT IN (SELECT run FROM transitions)`},
	{"runs of applications that are not there", `SELECT COUNT(*) FROM runs WHERE application IS NOT NULL AND application NOT IN (SELECT id FROM applications)`},
	{"tags of applications that are not there", `SELECT COUNT(*) FROM application_tags WHERE application NOT IN (SELECT id FROM applications)`},
	{"runs without their source", `SELECT COUNT(*) FROM runs WHERE source NOT IN (SELECT hash FROM sources)`},
	{"applications without their source", `SELECT COUNT(*) FROM applications WHERE source NOT IN (SELECT hash FROM sources)`},
	{"sources that nothing is made from", `SELECT COUNT(*) FROM sources WHERE hash NOT IN (SELECT source FROM runs) AND hash NOT IN (SELECT source FROM applications)`},
	{"sources without files", `SELECT COUNT(*) FROM sources WHERE hash NOT IN (SELECT source FROM source_files)`},
	{"files of sources that are not there", `SELECT COUNT(*) FROM source_files WHERE source NOT IN (SELECT hash FROM sources)`},
	{"files without their bytes", `SELECT COUNT(*) FROM source_files WHERE blob NOT IN (SELECT hash FROM blobs)`},
	{"blobs of no source", `SELECT COUNT(*) FROM blobs WHERE hash NOT IN (SELECT blob FROM source_files)`},
	{"sessions of users who are not there", `SELECT COUNT(*) FROM sessions WHERE user_id NOT IN (SELECT id FROM users)`},
	{"tokens of users who are not there", `SELECT COUNT(*) FROM tokens WHERE user_id NOT IN (SELECT id FROM users)`},
}

// orphans returns a text, such as "2 runs without transitions", for each kind of rows without
// an owner and, for SQLite, for each damage of the file, at most five; nil if all is well.
func (r *reader) orphans() (all []string, err error) {
	for _, q := range orphanQueries {
		var n int
		if err := r.conn.QueryRowContext(r.ctx, q.query).Scan(&n); err != nil {
			return nil, fmt.Errorf("%s: %w", q.query, err)
		}
		if n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, q.what))
		}
	}
	if !r.lite {
		return all, nil
	}
	err = r.each(`PRAGMA integrity_check(5)`, nil, func(scan func(...any) error) error {
		var text string
		err := scan(&text)
		if text != "ok" {
			all = append(all, "the file is damaged: "+strings.TrimSpace(text))
		}
		return err
	})
	return all, err
}
