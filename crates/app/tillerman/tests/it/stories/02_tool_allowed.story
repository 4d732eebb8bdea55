# 2: a tool is asked for and allowed; the second model call sees its result
file a.py print(1)
file b.py print(2)
prompt say "I look." call glob_search {"pattern":"*.py"} then say "Two."
allow
| opened mock/alpha prompt
| turn
| user Prompt "say \"I look.\" call glob_search {\"pattern\":\"*.py\"} then say \"Two.\""
| assistant "I look." glob_search{"pattern":"*.py"} ToolUse
| call glob
| ask glob needs read-only
| answer allow Once
| result glob Ran "a.py\nb.py\n"
| assistant "Two." Stop
| end EndTurn rounds 1 tokens 168/10
~ mock/alpha U "say \"I look.\" call glob_search {\"pattern\":\"*.py\"} then say \"Two.\""
~ mock/alpha UAR "a.py\nb.py\n"
