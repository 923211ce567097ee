package store

import "golang.org/x/sys/unix"

// networkTypes maps the magic numbers of network file systems (statfs(2)) to their names.
var networkTypes = map[uint32]string{
	0x6969:     "NFS",
	0x517b:     "SMB",
	0xff534d42: "SMB",
	0xfe534d42: "SMB",
	0x5346414f: "AFS",
	0x00c36400: "Ceph",
	0x01021997: "9p",
}

// networkFS returns the name of a folder's file system if it is one of networkTypes, and
// otherwise "". It is an error if the folder does not exist.
func networkFS(dir string) (string, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", err
	}
	return networkTypes[uint32(st.Type)], nil
}
