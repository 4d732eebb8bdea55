# 14: steering during a batch of three calls, immediately: the rest is skipped, then the message
lane immediate
prompt call read_file {"path":"a"} and call read_file {"path":"b"} and call read_file {"path":"c"} then say never
steer say "turned"
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
| result read_file Skipped error "Skipped due to queued user message."
| call read_file
| result read_file Skipped error "Skipped due to queued user message."
| settled Consumed
| user Steer "say \"turned\""
| assistant "turned" Stop
| end EndTurn rounds 1 tokens 220/18
~ mock/alpha U "call read_file {\"path\":\"a\"} and call read_file {\"path\":\"b\"} and call read_file {\"path\":\"c\"} then say never"
~ mock/alpha UARRRU "say \"turned\""
