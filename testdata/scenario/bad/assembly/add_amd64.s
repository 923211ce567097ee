TEXT ·add(SB), 4, $0-0
	RET
