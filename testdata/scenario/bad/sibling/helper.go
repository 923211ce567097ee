package main

func helper(vui int) { _ = vui }
