package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/gobench-io/gobench/internal/api/auth"
)

// auditHead is the setting with the number and chain of the last entry. It reveals that the
// end of the log was cut off.
const auditHead = "audit.head"

// chain returns the SHA-256 of the previous entry's chain (nil for the first) and of an
// entry's fields. e.Number must be set, and texts be as stored, see clean.
func chain(before []byte, e *auth.Entry) []byte {
	h := sha256.New()
	h.Write(before)
	var n [8]byte
	number := func(v int64) {
		binary.BigEndian.PutUint64(n[:], uint64(v))
		h.Write(n[:])
	}
	number(e.Number)
	number(ns(e.Time))
	for _, text := range []string{e.User, e.Token, e.Address, e.Action, e.Object, e.Detail, e.Result} {
		number(int64(len(text)))
		h.Write([]byte(text))
	}
	return h.Sum(nil)
}

// head returns the value of auditHead for the last entry.
func head(e *auth.Entry) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(e.Number)), e.Chain...)
}

// Audit appends an entry to the audit log, and sets its Number, Chain and, if it is zero, Time
// (also if it fails). The texts are stored with invalid UTF-8 and NUL replaced; e keeps them.
func (s *Store) Audit(ctx context.Context, e *auth.Entry) error {
	if e.Time.IsZero() {
		e.Time = s.options.Now().UTC()
	}
	var kept auth.Entry
	err := s.write(ctx, func(t *tx) error {
		var before []byte
		if _, err := t.one(`SELECT chain FROM audit ORDER BY number DESC LIMIT 1`, nil, &before); err != nil {
			return err
		}
		n, err := t.count("audit")
		if err != nil {
			return err
		}
		kept = auth.Entry{Number: n, Time: at(ns(e.Time)), User: clean(e.User), Token: clean(e.Token), Address: clean(e.Address),
			Action: clean(e.Action), Object: clean(e.Object), Detail: clean(e.Detail), Result: clean(e.Result)}
		kept.Chain = chain(before, &kept)
		if err := t.run(`INSERT INTO audit (number, at, username, token, address, action, object, detail, result, chain)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			n, ns(kept.Time), kept.User, kept.Token, kept.Address, kept.Action, kept.Object, kept.Detail, kept.Result, kept.Chain); err != nil {
			return err
		}
		return t.run(`INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, auditHead, head(&kept))
	})
	if err == nil {
		e.Number, e.Chain = kept.Number, kept.Chain
	}
	return err
}

const entryColumns = `number, at, username, token, address, action, object, detail, result, chain`

// readEntry reads a row of entryColumns. The error is that of scan.
func readEntry(scan func(...any) error) (e auth.Entry, err error) {
	var when int64
	err = scan(&e.Number, &when, &e.User, &e.Token, &e.Address, &e.Action, &e.Object, &e.Detail, &e.Result, &e.Chain)
	e.Time = at(when)
	return e, err
}

// Entries returns up to limit entries (0 or less: 50; 1000 at most), with numbers below before
// (0 or less: from the newest), the newest first.
func (s *Store) Entries(ctx context.Context, before int64, limit int) ([]auth.Entry, error) {
	if limit <= 0 {
		limit = 50
	}
	query, args := `SELECT `+entryColumns+` FROM audit`, []any{min(limit, 1000)}
	if before > 0 {
		query, args = query+` WHERE number < $2`, append(args, before)
	}
	return list(ctx, s, query+` ORDER BY number DESC LIMIT $1`, args, readEntry)
}

// verifyAudit checks the whole audit log. It returns nil if it is intact or empty, and
// otherwise an error about the first entry that is missing or does not fit the one before it,
// since one of them was changed. Entries may be appended during the call.
func (s *Store) verifyAudit(ctx context.Context) error {
	last := auth.Entry{}
	for {
		page, err := list(ctx, s, `SELECT `+entryColumns+` FROM audit WHERE number > $1 ORDER BY number LIMIT 1000`, []any{last.Number}, readEntry)
		if err != nil {
			return err
		}
		for _, e := range page {
			if e.Number != last.Number+1 {
				return fmt.Errorf("entry %d of the audit log is missing", last.Number+1)
			}
			if !bytes.Equal(e.Chain, chain(last.Chain, &e)) {
				return fmt.Errorf("entry %d of the audit log does not fit the one before it: it, or that one, was changed", e.Number)
			}
			last = e
		}
		if len(page) == 0 {
			break
		}
	}
	kept, err := s.Setting(ctx, auditHead)
	switch {
	case err != nil:
		return err
	case kept == nil && last.Number == 0, bytes.Equal(kept, head(&last)):
		return nil
	}
	// An entry may have been appended meanwhile; then the head is another.
	newer, err := list(ctx, s, `SELECT `+entryColumns+` FROM audit WHERE number > $1 LIMIT 1`, []any{last.Number}, readEntry)
	if err != nil {
		return err
	}
	if len(newer) > 0 {
		return s.verifyAudit(ctx)
	}
	return fmt.Errorf("entry %d of the audit log is missing: the log was cut off", last.Number+1)
}
