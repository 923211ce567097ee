package runner

import "runtime"

// What makes many users, and what one takes of the heap: a stack, a client, a connection.
const (
	manyUsers = 2000
	userRoom  = 12 << 10 // bytes
)

// makeRoom has the memory that many users will take come in huge pages, where the system
// gives them to who asks (MADV_HUGEPAGE). Each user's turn comes long after its last one
// and touches a hundred places that no cache has: with pages of 4 KB it waits for most of
// their addresses, too. Fewer users keep the small pages, which take up no more than they
// hold.
//
// The heap is made to span that memory, without touching it, and to free it again: what
// is allocated from then on has the lowest free addresses, and so lies there.
func (r *Runner) makeRoom() {
	users := int64(0)
	for _, c := range r.classes {
		users += c.share.Nu
	}
	if users < manyUsers || !canAdvise {
		return
	}
	room := make([]byte, users*userRoom)
	err := hugePages(room)
	runtime.KeepAlive(room)
	runtime.GC()
	r.Log(func() string {
		if err != nil {
			return "no huge pages for the memory of the users: " + err.Error()
		}
		return "the memory of the users may come in huge pages"
	})
}
