package system

import "golang.org/x/sys/unix"

func noExec(st *unix.Statfs_t) bool { return st.Flags&unix.ST_NOEXEC != 0 }
