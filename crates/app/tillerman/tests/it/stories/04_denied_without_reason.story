# 4: without a reason the model reads a fixed text
prompt call write_file {"path":"x.txt","content":"1"} then say "Then not."
deny
| opened mock/alpha prompt
| turn
| user Prompt "call write_file {\"path\":\"x.txt\",\"content\":\"1\"} then say \"Then not.\""
| assistant write_file{"path":"x.txt","content":"1"} ToolUse
| call write_file
| ask write_file needs workspace-write
| answer deny
| result write_file Denied error "denied by the user"
| assistant "Then not." Stop
| end EndTurn rounds 1 tokens 172/13
~ mock/alpha U "call write_file {\"path\":\"x.txt\",\"content\":\"1\"} then say \"Then not.\""
~ mock/alpha UAR "denied by the user"
