# 41: a budget is spent; an allow gives as much again, a deny ends the turn, and the next prompt has its own
budget turn.rounds=1
prompt call glob_search {"pattern":"*"} then call glob_search {"pattern":"*"} then call glob_search {"pattern":"*"} then say never
allow
allow
allow
deny
prompt say "still here"
