# Makes rocgdb, or gdb, print a process's agents, queues, dispatches, waves with their registers, and host threads. A
# command that is unknown or fails is a line of the output, and the next one follows.
set pagination off
set confirm off
set width 0
set height 0
set print thread-events off
python
import gdb

# A wave has hundreds of registers, and a GPU thousands of waves.
MOST_WAVES = 64

def run(command):
    print("$ " + command)
    try:
        print(gdb.execute(command, to_string=True).rstrip("\n"))
    except gdb.error as error:
        print("(" + str(error) + ")")

def heading(text):
    print("\n## " + text)

def is_wave():
    try:
        return gdb.selected_frame().architecture().name().startswith("amdgcn")
    except gdb.error:
        return False

heading("what there is")
for command in ["info inferiors", "info agents", "info queues", "info dispatches", "info threads"]:
    run(command)

threads = sorted(gdb.selected_inferior().threads(), key=lambda thread: thread.num)
waves = 0
for thread in threads:
    if not thread.is_valid():
        continue
    thread.switch()
    if is_wave():
        waves += 1
        if waves > MOST_WAVES:
            continue
        heading("wave %d: %s" % (thread.num, thread.name))
        for command in ["backtrace", "x/12i $pc - 16", "info lanes", "info registers system", "info registers scalar",
                        "info registers vector"]:
            run(command)
    else:
        heading("thread %d: %s" % (thread.num, thread.name))
        for command in ["backtrace 40", "info registers"]:
            run(command)
heading("%d threads, %d waves" % (len(threads), waves))
if waves > MOST_WAVES:
    print("(of these, %d are not shown)" % (waves - MOST_WAVES))
end
detach
