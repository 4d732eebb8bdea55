# 14: steering during a batch of three calls, by default: all three run, then the message
prompt call read_file {"path":"a"} and call read_file {"path":"b"} and call read_file {"path":"c"} then say never
steer say "turned"
allow
allow
allow
| opened mock/alpha prompt
| turn
| user Prompt "call read_file {\"path\":\"a\"} and call read_file {\"path\":\"b\"} and call read_file {\"path\":\"c\"} then say never"
| assistant read_file{"path":"a"} read_file{"path":"b"} read_file{"path":"c"} ToolUse
| call read_file
| ask read_file needs read-only
| queued Steer "say \"turned\""
| answer allow Once
| result read_file Ran error "a: no such file or directory"
| call read_file
| ask read_file needs read-only
| answer allow Once
| result read_file Ran error "b: no such file or directory"
| call read_file
| ask read_file needs read-only
| answer allow Once
| result read_file Ran error "c: no such file or directory"
| settled Consumed
| user Steer "say \"turned\""
| assistant "turned" Stop
| end EndTurn rounds 1 tokens 216/18
~ mock/alpha U "call read_file {\"path\":\"a\"} and call read_file {\"path\":\"b\"} and call read_file {\"path\":\"c\"} then say never"
~ mock/alpha UARRRU "say \"turned\""
