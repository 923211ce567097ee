module bench/load

go 1.26
