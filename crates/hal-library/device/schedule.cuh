// Scheduling on the device. The host's side, with the same structures, is crates/hal/src/scheduler/layout.rs.
//
// The list is in memory of the host that GPU and CPU keep coherent. A run of `hal_schedule` is the only one at
// a time, because each puts the packet of the next one into the control queue, behind a packet that waits until
// the signal `kicks` has changed: no kernel waits.

using i64 = long long;

// A ring of packets, as `amd_queue_t` and the queue's doorbell signal describe it.
struct Ring {
    u32 *packets;
    u64 size;
    u64 *write_index;
    const u64 *read_index;
    u64 *doorbell;
};

// What has to hold before an entry is issued.
struct Condition {
    enum Kind : u64 {
        // `at` has a semaphore's value from the host, and behind it the one from the device: the larger one is
        // at least `value`.
        Reached,
        // `at` is the value of a queue's progress signal, which is not negative as long as the queue lives: it
        // is at most `value`.
        Passed,
    };
    const u64 *at;
    u64 value;
    Kind kind;
};

// A semaphore's value from the device, and what an entry raises it to.
struct Raise {
    u64 *at;
    u64 value;
};

// A packet that is not complete when it is issued: a kernel before it finds its address at `at`.
struct Patch {
    u64 *at;
    u64 packet;
};

struct Entry {
    enum State : u32 {
        // Nothing, or an entry that the device is done with: the host may write it.
        Free,
        // The device may take the entry, and the host may cancel it: whoever changes the state first.
        Waiting,
        // Its packets are in the queue.
        Issued,
        // The host changed its mind. The device does not touch the entry again once it is free.
        Cancelled,
        // All that it waits for has come.
        Ready,
        // Its packets are on their way into the queue.
        Issuing,
    };
    u32 state;
    // The number of its ring, below 32.
    u32 queue;
    u32 conditions;
    u32 raises;
    u32 patches;
    u32 packets;
    const Ring *ring;
    const Condition *condition;
    const Raise *raise;
    const Patch *patch;
    const u32 *packet;
    // The value of the signal that its last packet decrements to 0. The host makes it negative if the queue
    // stops before.
    const i64 *end;
};

struct Control {
    // Entries `head` to `tail`, by number; an entry is in the slot of its number modulo `size`.
    u64 head;
    u64 tail;
    u64 size;
    Entry *entries;
    // The value of the signal that goes down with whatever the device should look at.
    const i64 *kicks;
    // The control queue, to which only this kernel writes once the host has begun.
    Ring ring;
    // The packet that waits until `kicks` is less than its value, and the one of this kernel.
    u32 wait[16];
    u32 again[16];
};

template <class T> static __device__ T look(const T *at) {
    return __hip_atomic_load(at, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}

template <class T> static __device__ void publish(T *at, T value) {
    __hip_atomic_store(at, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}

template <class T> static __device__ bool exchange(T *at, T *expected, T value) {
    return __hip_atomic_compare_exchange_strong(at, expected, value, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE,
                                                __HIP_MEMORY_SCOPE_SYSTEM);
}

static __device__ u32 *slot(const Ring *ring, u64 number) { return ring->packets + number % ring->size * 16; }

// Writes a packet, its first word last: the packet processor looks at that one.
static __device__ void put(u32 *to, const u32 *packet) {
    for (u32 word = 1; word < 16; word++) to[word] = packet[word];
    publish(to, packet[0]);
}

static __device__ bool is_ready(const Entry *entry) {
    for (u32 index = 0; index < entry->conditions; index++) {
        const Condition &condition = entry->condition[index];
        if (condition.kind == Condition::Reached) {
            if (look(condition.at) < condition.value && look(condition.at + 1) < condition.value) return false;
        } else {
            const i64 value = look((const i64 *)condition.at);
            if (value < 0 || value > i64(condition.value)) return false;
        }
    }
    return true;
}

static __device__ void raise(const Entry *entry) {
    for (u32 index = 0; index < entry->raises; index++) {
        const Raise &raise = entry->raise[index];
        // Nothing else writes it.
        if (look(raise.at) < raise.value) publish(raise.at, raise.value);
    }
}

// Puts the packets of a ready entry into its queue. Returns false if there is no room.
static __device__ bool issue(Entry *entry) {
    const Ring *ring = entry->ring;
    const u32 count = entry->packets;
    publish(&entry->state, u32(Entry::Issuing));
    // Slots are only reserved if they are free: the queue is never held up for want of room.
    u64 first = look(ring->write_index);
    do {
        if (first + count - look(ring->read_index) > ring->size) {
            publish(&entry->state, u32(Entry::Ready));
            return false;
        }
    } while (!exchange(ring->write_index, &first, first + count));
    for (u32 index = 0; index < entry->patches; index++)
        *entry->patch[index].at = u64(slot(ring, first + entry->patch[index].packet));
    // The last one first: the processor sees all or none.
    for (u32 index = count; index-- > 0;) put(slot(ring, first + index), entry->packet + 16 * index);
    publish(ring->doorbell, first + count - 1);
    publish(&entry->state, u32(Entry::Issued));
    return true;
}

// Looks at an entry. Returns whether something has changed that others may wait for, or that comes first.
static __device__ bool examine(Entry *entry) {
    u32 state = look(&entry->state);
    if (state == Entry::Issued || state == Entry::Ready) {
        const i64 end = look(entry->end);
        if (end == 0) raise(entry);
        if (end <= 0) publish(&entry->state, u32(Entry::Free));
        return end == 0;
    }
    if (state == Entry::Cancelled) publish(&entry->state, u32(Entry::Free));
    if (state != Entry::Waiting || !is_ready(entry)) return false;
    if (entry->packets != 0) return exchange(&entry->state, &state, u32(Entry::Ready));
    // What it says has happened, whether or not it is cancelled.
    raise(entry);
    publish(&entry->state, u32(Entry::Free));
    return true;
}

extern "C" __global__ void hal_schedule(Control *control) {
    // What happens from here on lets the next run begin.
    const i64 kicks = look(control->kicks);
    const u64 head = look(&control->head), tail = look(&control->tail);
    // Until nothing changes: then what is not ready was looked at after all that is, so that of two entries for
    // which the same value has come, none overtakes the other.
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (u64 number = head; number < tail; number++)
            has_changed = examine(control->entries + number % control->size) || has_changed;
    }
    // Queues without room for an earlier entry.
    u32 full = 0;
    for (u64 number = head; number < tail; number++) {
        Entry *entry = control->entries + number % control->size;
        if (look(&entry->state) != Entry::Ready) continue;
        if (full >> entry->queue & 1 || !issue(entry)) full |= 1u << entry->queue;
    }
    const Ring *ring = &control->ring;
    u64 next = look(ring->write_index);
    // The queue has room: there are at most the packets of this run and the next.
    publish(ring->write_index, next + (full != 0 ? 1 : 2));
    if (full != 0) {
        // No signal tells when a queue has room, so the next run begins at once, after a little time.
        for (u32 turn = 0; turn < 16; turn++) __builtin_amdgcn_s_sleep(127);
        put(slot(ring, next), control->again);
    } else {
        put(slot(ring, next + 1), control->again);
        u32 *wait = slot(ring, next);
        for (u32 word = 1; word < 16; word++) wait[word] = control->wait[word];
        wait[4] = u32(kicks);
        wait[5] = u32(u64(kicks) >> 32);
        publish(wait, control->wait[0]);
        next++;
    }
    publish(ring->doorbell, next);
}
