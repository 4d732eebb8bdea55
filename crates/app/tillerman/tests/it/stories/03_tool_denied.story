# 3: a denied call is not run; the model reads the reason; the turn goes on
prompt call write_file {"path":"x.txt","content":"1"} then say "Then not."
deny not x
prompt call glob_search {"pattern":"*"} then say "Nothing there."
allow
| opened mock/alpha prompt
| turn
| user Prompt "call write_file {\"path\":\"x.txt\",\"content\":\"1\"} then say \"Then not.\""
| assistant write_file{"path":"x.txt","content":"1"} ToolUse
| call write_file
| ask write_file needs workspace-write
| answer deny
| result write_file Denied error "not x"
| assistant "Then not." Stop
| end EndTurn rounds 1 tokens 169/13
| turn
| user Prompt "call glob_search {\"pattern\":\"*\"} then say \"Nothing there.\""
| assistant glob_search{"pattern":"*"} ToolUse
| call glob
| ask glob needs read-only
| answer allow Once
| result glob Ran "no files match *\n"
| assistant "Nothing there." Stop
| end EndTurn rounds 1 tokens 224/11
~ mock/alpha U "call write_file {\"path\":\"x.txt\",\"content\":\"1\"} then say \"Then not.\""
~ mock/alpha UAR "not x"
~ mock/alpha UARAU "call glob_search {\"pattern\":\"*\"} then say \"Nothing there.\""
~ mock/alpha UARAUAR "no files match *\n"
