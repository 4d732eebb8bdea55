# 34: model and mode changed while a turn runs: from the next model call on
prompt call glob_search {"pattern":"*"} then say "two"
slash model mock/beta
slash mode read-only
slash clear
! turn_in_progress
allow
| opened mock/alpha prompt
| turn
| user Prompt "call glob_search {\"pattern\":\"*\"} then say \"two\""
| assistant glob_search{"pattern":"*"} ToolUse
| call glob
| ask glob needs read-only
| model mock/beta
| mode read-only
| answer allow Once
| result glob Ran "no files match *\n"
| assistant "two" Stop
| end EndTurn rounds 1 tokens 169/8
~ mock/alpha U "call glob_search {\"pattern\":\"*\"} then say \"two\""
~ mock/beta UAR "no files match *\n"
