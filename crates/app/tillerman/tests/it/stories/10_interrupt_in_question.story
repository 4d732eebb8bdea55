# 10: interrupt while a question is open: it is withdrawn, a late answer is an error, the rest is not started
prompt call write_file {"path":"x","content":"1"} and call write_file {"path":"y","content":"2"}
interrupt
again
! unknown_ask
prompt call glob_search {"pattern":"*"} then say "Nothing there."
allow
| opened mock/alpha prompt
| turn
| user Prompt "call write_file {\"path\":\"x\",\"content\":\"1\"} and call write_file {\"path\":\"y\",\"content\":\"2\"}"
| assistant write_file{"path":"x","content":"1"} write_file{"path":"y","content":"2"} ToolUse
| call write_file
| ask write_file needs workspace-write
| withdrawn
| result write_file Interrupted error "interrupted"
| result write_file Interrupted error "interrupted"
| cut Asked
| end Interrupted rounds 0 tokens 84/18
| turn
| user Prompt "call glob_search {\"pattern\":\"*\"} then say \"Nothing there.\""
| assistant glob_search{"pattern":"*"} ToolUse
| call glob
| ask glob needs read-only
| answer allow Once
| result glob Ran "no files match *\n"
| assistant "Nothing there." Stop
| end EndTurn rounds 1 tokens 255/11
~ mock/alpha U "call write_file {\"path\":\"x\",\"content\":\"1\"} and call write_file {\"path\":\"y\",\"content\":\"2\"}"
~ mock/alpha UARRU "call glob_search {\"pattern\":\"*\"} then say \"Nothing there.\""
~ mock/alpha UARRUAR "no files match *\n"
