# 40: neither an interrupted nor a failed turn is taken up again, whatever is open
reminders 3
todos write it
model pause 5000 say never
model fail 401
prompt hello
interrupt
prompt hello again
| opened mock/alpha prompt
| todos 1 open 1
| turn
| user Prompt "hello"
| cut Asked
| end Interrupted rounds 0 tokens 0/0
| turn
| user Prompt "hello again"
| end Error Auth rounds 0 tokens 0/0
~ mock/alpha U "hello"
~ mock/alpha UU "hello again"
