// Package store stores a master's data in an SQLite file or in PostgreSQL: queued and past
// runs, what executors counted, agents, users and the audit log. [Store] implements both the
// Store of internal/master and that of internal/api, whose comments describe the methods that
// only refer to them.
//
// The same SQL runs on both engines, and so do the tests. One connection writes, so write
// transactions run one at a time; several connections read, each from a consistent snapshot.
// When a method returns without an error, its data survives a power failure. When it returns
// an error, nothing of it was stored; only [Store.Maintain] and the methods that delete runs
// use several transactions, and what was done before the error stays.
//
// A database belongs to one master: [Open] returns an [Error] of kind [Locked] that names the
// holder if another process has opened it. The caller of Open must call [Store.Close]. After
// an error of the disk, other than lack of space, the store refuses all writes, since it is
// unknown what a failed fsync has lost ([Store.Broken]); reads still work, and opening it
// again helps.
package store
