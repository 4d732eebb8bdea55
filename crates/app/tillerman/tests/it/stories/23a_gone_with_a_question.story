# 23: the controller goes away with a question open: denied, the turn ends, the log is complete
prompt call write_file {"path":"x","content":"1"} then say "Nobody is there."
leave
| opened mock/alpha prompt
| turn
| user Prompt "call write_file {\"path\":\"x\",\"content\":\"1\"} then say \"Nobody is there.\""
| assistant write_file{"path":"x","content":"1"} ToolUse
| call write_file
| ask write_file needs workspace-write
| answer deny
| result write_file Denied error "controller disconnected before responding"
| assistant "Nobody is there." Stop
| end EndTurn rounds 1 tokens 178/13
~ mock/alpha U "call write_file {\"path\":\"x\",\"content\":\"1\"} then say \"Nobody is there.\""
~ mock/alpha UAR "controller disconnected before responding"
