/*
 * Who owns a slot, and that nothing is lost, doubled or hidden while it changes hands: README.md.
 *
 * One slot with one conversation, because nothing that is modelled here joins two of them. Two stores, a database of two
 * nodes, one fanout or two. All that can happen is an option of a loop whose guard says when; an option is one step of
 * one party. Names of files say where the rule stands in the code.
 *
 * Sizes:
 *   MESSAGES  commands, each with an id of its own
 *   FAULTS    how many faults there may be, of the kinds in `Fault`
 *   ONE_FANOUT  one that is there from the beginning or comes later, in the place of one of each. Nothing else looks at
 *               a fanout, so two find nothing that one does not, in ten times the states.
 * Shapes:
 *   CITUS          the slot's rows are on one of two nodes and move between them; each node has locks of its own, and a
 *                  session of one node can write rows of the other. Without it: one primary, replaced by its standby.
 *   LOCK_ELSEWHERE the session that writes is not the one that holds the lock (the background writer of a store)
 *   TWO_PHASE      a session that is ended may leave a prepared transaction behind
 * Rules that are not needed in every shape:
 *   FENCED         a batch proves its epoch by a lock for which the next epoch waits
 *   PLACED         a batch is refused when the rows are not on the node of its session
 * Mistakes: macros that begin with BAD_.
 */

#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef FAULTS
#define FAULTS 2
#endif
#define EPOCHS (FAULTS + 2)   /* Each fault ends one at most. */
#define NUMBERS (MESSAGES + 1) /* of digests under one epoch */

#define max(a, b) ((a) > (b) -> (a) : (b))
#define min(a, b) ((a) < (b) -> (a) : (b))

/* MARK: The database */

byte length;             /* conversations.last_seq */
byte row[MESSAGES + 3];  /* store.messages: by seq, the id of a message */
byte epoch;              /* slots.epoch */
bit home;                /* the node with the rows of the slot */
byte faults;
bit calm;                /* No more faults; what is on its way on the bus is lost, and the bus loses nothing more. */

#ifdef BAD_EPOCH_OF_NODE /* The table of epochs does not move with the rows. */
byte epochOfNode[2];
#endif

#define IDLE 0
#define SENT 1      /* The batch is on its way to the server. */
#define BEGUN 2     /* It holds its locks (LockStatement.swift), so no other batch of the conversation has begun. */
#define COMMITTED 3 /* Its response is on the way back. */
#define REFUSED 4   /* Certainly rolled back. */
#define PREPARED 5  /* Of two phases the first is done: no session is needed for the second. */

/*
 * Sessions as the server has them: 0 and 1 write for stores 0 and 1. 2 and 3 wrote for them, and their client is gone:
 * the server may go on, and commit, until it notices (OwnedSlots.swift, lossDetectionTime).
 */
typedef Session {
    bit alive;
    bit node;
    bit locked;    /* It holds the advisory lock of the slot on its node. */
    bit unlocking; /* An unlock is queued behind the batch (SlotOwner.swift, release). */
    byte stage;
    byte message;
    byte epoch;    /* of the owner when it sent the batch */
    byte seq;
    bit isNew
}
Session session[4];

#define writing(k) (session[k].alive && (session[k].stage == BEGUN || session[k].stage == PREPARED))
#define nobodyWrites (!writing(0) && !writing(1) && !writing(2) && !writing(3))
#define lockedBy(k, n) (session[k].locked && session[k].node == n)
#define isFree(n) (!lockedBy(0, n) && !lockedBy(1, n) && !lockedBy(2, n) && !lockedBy(3, n))

#ifdef FENCED
#define epochMayRise nobodyWrites
#define isRefusedByEpoch(k) (session[k].epoch != epoch)
#else
#define epochMayRise true
#define isRefusedByEpoch(k) false
#endif
#ifdef PLACED
#define isRefusedByPlace(k) (session[k].node != home)
#else
#define isRefusedByPlace(k) false
#endif
#define isRefused(k) (isRefusedByEpoch(k) || isRefusedByPlace(k))

inline forget(k) {
    session[k].alive = 0;
    session[k].node = 0;
    session[k].locked = 0;
    session[k].unlocking = 0;
    session[k].stage = IDLE;
    session[k].message = 0;
    session[k].epoch = 0;
    session[k].seq = 0;
    session[k].isNew = 0
}

/* send_message.sql: a message that is there already is found, any other gets the next position. */
inline store(k) {
    session[k].seq = 0;
    i = 1;
    do
    :: i <= length ->
        if
        :: row[i] == session[k].message -> session[k].seq = i
        :: else
        fi;
        i++
    :: else -> break
    od;
#ifdef BAD_REPETITION_STORED
    session[k].seq = 0;
#endif
    session[k].isNew = (session[k].seq == 0);
    if
    :: session[k].isNew ->
        i = 1;
        do
        :: i <= length ->
            assert(row[i] != session[k].message); /* Nothing is written twice. */
            i++
        :: else -> break
        od;
        length++;
        row[length] = session[k].message;
        session[k].seq = length
    :: else
    fi
}

/* What the server does with a session: a batch is one transaction (decision 0006). */
proctype Backend(byte k) {
    byte i;
end:
    do
    :: d_step { session[k].alive && session[k].stage == SENT && isRefused(k) -> session[k].stage = REFUSED }
    :: d_step { session[k].alive && session[k].stage == SENT && !isRefused(k) && nobodyWrites ->
        session[k].stage = BEGUN
    }
    :: d_step { session[k].alive && session[k].stage == BEGUN ->
        store(k);
        session[k].stage = COMMITTED;
        if
        :: k >= 2 -> forget(k)
        :: else
        fi;
        i = 0
    }
    :: d_step { session[k].unlocking && session[k].stage != SENT && session[k].stage != BEGUN ->
        session[k].locked = 0;
        session[k].unlocking = 0
    }
    /* Without a client a session ends; before that its transaction may have been committed or rolled back. */
    :: d_step { k >= 2 && session[k].alive && session[k].stage != PREPARED -> forget(k) }
    :: d_step { session[k].alive && session[k].stage == PREPARED -> store(k); forget(k); i = 0 }
    :: d_step { session[k].alive && session[k].stage == PREPARED -> forget(k) }
    od
}

/* MARK: The bus */

/*
 * What was published is kept for ever, and a subscriber may receive it at any time, in any order, again, or never: a bus
 * that loses, repeats and reorders.
 */
byte change[MESSAGES + 3];                  /* Topic change: by seq, the id of the message. */
byte digest[EPOCHS * NUMBERS];              /* Topic digest: by epoch and number, the position that moved; 0: empty. */
byte published[EPOCHS];                     /* By epoch, the last number, plus 1. */
bit acknowledged[MESSAGES + 1];             /* Ingest has the response. */
byte responses;                             /* The messages that are acknowledged. */
byte requested;                             /* The messages requested so far. */

#define at(e, n) ((e) * NUMBERS + (n))

/* MARK: Stores */

typedef Store {
    bit connected; /* Connection.swift: the session is up, as far as the store knows. */
    bit owns;      /* OwnedSlots.swift, isOwned */
    byte epoch;
    byte number;   /* DigestLog.swift, the last digest's */
    byte queue;    /* CommandQueue.swift: waits until the batch before it has ended */
    bit isStale    /* Its queries are answered by a database that was replaced: only as a mistake. */
}
Store stores[2];
byte staleLength;

/* Queries.swift: what a query of this store finds. */
#define found(s) (stores[s].isStale -> staleLength : length)

/* Connection.swift, lose; SlotOwner.swift, loseAll; Writer.swift, abandonWaiting: nothing of the session remains. */
inline loseEverything(s) {
    stores[s].connected = 0;
    stores[s].owns = 0;
    stores[s].epoch = 0;
    stores[s].number = 0;
    stores[s].queue = 0
}

/* SlotOwner.swift, lose; DigestLog.swift, lost. */
inline loseSlot(s) {
    stores[s].owns = 0;
    stores[s].epoch = 0;
    stores[s].number = 0;
#ifndef BAD_QUEUE_KEPT
    stores[s].queue = 0 /* Writer.swift, abandonLost: abandoned, and requested again of the next owner. */
#endif
}

/* acquire_slots.sql, SlotOwner.swift, hold. */
inline acquire(s) {
    session[s].locked = 1;
#ifdef BAD_EPOCH_OF_NODE
    epochOfNode[session[s].node]++;
    stores[s].epoch = epochOfNode[session[s].node];
    epoch = stores[s].epoch;
#else
#ifdef BAD_EPOCH_KEPT
    epoch = max(epoch, 1);
#else
    epoch++;
#endif
    stores[s].epoch = epoch;
#endif
    assert(epoch < EPOCHS);
    stores[s].owns = 1;
    stores[s].number = 0;
    published[epoch] = max(published[epoch], 1)
}

/* An acknowledged write is committed. */
inline respond(answered) {
    i = 1;
    do
    :: i <= length && row[i] != answered -> i++
    :: else -> break
    od;
    assert(i <= length);
    if
    :: !acknowledged[answered] -> acknowledged[answered] = 1; responses++
    :: else
    fi
}

/* Writer.swift, submit. What is sent on a connection that is gone is in doubt. */
inline submit(s, command) {
    session[s].message = command;
#ifdef FENCED
    session[s].epoch = stores[s].epoch;
#endif
    session[s].stage = SENT
}

/* Writer.swift, kick. */
inline endBatch(s) {
    session[s].stage = IDLE;
    session[s].message = 0;
    session[s].epoch = 0;
    session[s].seq = 0;
    session[s].isNew = 0;
    i = 0;
    if
    :: stores[s].queue -> submit(s, stores[s].queue); stores[s].queue = 0
    :: else
    fi
}

/* CommandOutcomes.swift, announceAndRespond; Announcer.swift; DigestLog.swift, note and takeDigest: a digest for each change.
   One for several is as if only the last of these had arrived. */
inline announce(s) {
    if
    :: session[s].isNew ->
        change[session[s].seq] = session[s].message;
        if
        :: stores[s].owns ->
            stores[s].number++;
            assert(stores[s].number < NUMBERS);
            digest[at(stores[s].epoch, stores[s].number)] = session[s].seq;
            published[stores[s].epoch] = max(published[stores[s].epoch], stores[s].number + 1)
        :: else /* Not owned any more: the epoch of the next owner reveals it. */
        fi
    :: else
    fi
}

#ifdef LOCK_ELSEWHERE
#define mayAcquire(s) true
#else
#define mayAcquire(s) (session[s].stage == IDLE)
#endif

proctype Owner(byte s) {
    byte i;
end:
    do
    :: d_step { !stores[s].connected && session[s].stage == IDLE ->
        stores[s].connected = 1;
        session[s].alive = 1;
        session[s].node = home
    }
    :: d_step { stores[s].connected && session[s].alive && !stores[s].owns && mayAcquire(s) && !session[s].unlocking &&
            session[s].node == home && isFree(session[s].node) && epochMayRise ->
        acquire(s)
    }
    /* Writer.swift, finish. */
    :: d_step { session[s].stage == COMMITTED -> announce(s); respond(session[s].message); endBatch(s) }
    :: d_step { !calm && session[s].stage == COMMITTED -> announce(s); endBatch(s) } /* The response is lost. */
    /* Who is told that the epoch or the place is another one gives up the session with the lock. */
#ifdef LOCK_ELSEWHERE
    :: d_step { session[s].stage == REFUSED -> endBatch(s) }
#else
    :: d_step { session[s].stage == REFUSED -> forget(s); loseEverything(s) }
#endif
    /* Connection.swift: the server's end of the session is gone. A response that came before may be read first. */
    :: d_step { stores[s].connected && !session[s].alive ->
#ifdef BAD_DOUBT_ACKNOWLEDGED
        if
        :: session[s].stage != IDLE -> respond(session[s].message)
        :: else
        fi;
#endif
        forget(s);
        loseEverything(s)
    }
    /* A store follows the rows to their node. */
    :: d_step { stores[s].connected && session[s].alive && session[s].node != home && session[s].stage == IDLE ->
        forget(s);
        loseEverything(s)
    }
#ifdef BAD_ANNOUNCED_BEFORE_COMMIT
    :: d_step { session[s].stage == BEGUN && change[length + 1] == 0 -> change[length + 1] = session[s].message }
#endif
    od
}

/* MARK: Ingest */

/*
 * Bus+Requests.swift: a request is published again until there is a response. A copy may reach a store at any time; a store
 * drops what repeats a request in flight (InboundRequests.swift). A copy behind a response is like one behind a response
 * that is lost. Messages are numbered in the order in which they are requested first.
 */
#define RECEIVE(s) \
    :: d_step { !acknowledged[m] && m <= requested + 1 && stores[s].owns && !stores[s].queue && \
        (session[s].stage == IDLE || session[s].message != m) -> \
        requested = max(requested, m); \
        if \
        :: session[s].stage == IDLE -> submit(s, m) \
        :: else -> stores[s].queue = m \
        fi }

proctype Ingest(byte m) {
end:
    do
    RECEIVE(0)
    RECEIVE(1)
    od
}

/* MARK: Fanout */

#define ABSENT 0
#define STARTING 1 /* Waits for its bootstrap; PositionRecorder.swift records. */
#define STARTED 2  /* The snapshot was read; its response is on the way. */
#define LIVE 3

typedef Fanout {
    byte phase;
    byte last;      /* DenseStream.swift: everything up to here was delivered, */
    byte delivered; /* and what a session has got indeed. */
    byte known;     /* DenseStream.swift: everything up to here exists. */
    byte early;     /* DenseStream.swift: bits of positions that wait for those before. */
    byte epoch;     /* DigestTracker.swift */
    byte number;
    bit doubtful;   /* PositionCheck.swift: positions are to be queried. */
    byte recorded;  /* PositionRecorder.swift */
    bit isRecordedInDoubt
}
Fanout fanouts[2];

#define isEarly(f, seq) ((fanouts[f].early >> (seq)) & 1)
#define F fanouts[f]
#define isRecording (F.phase == STARTING || F.phase == STARTED)

/* Every change is delivered once, and in order. */
inline deliver(position) {
    assert(position == F.delivered + 1);
    F.delivered++;
    F.last = F.delivered
}

inline drain(f) {
    do
    :: isEarly(f, F.last + 1) ->
        deliver(F.last + 1);
        F.early = F.early & ~(1 << F.last)
    :: else -> break
    od
}

/* DenseStream.swift, announce and takeNext. */
inline take(seq, message) {
    assert(seq <= length && row[seq] == message); /* Nothing is announced that is not committed. */
    if
    :: isRecording -> F.recorded = max(F.recorded, seq)
    :: else ->
        F.known = max(F.known, seq);
#ifdef BAD_HOLE_IGNORED
        deliver(seq)
#else
        F.early = F.early | (1 << (seq));
        drain(f)
#endif
    fi
}

inline doubt(f) {
    if
    :: F.phase == LIVE -> F.doubtful = 1
    :: isRecording -> F.isRecordedInDoubt = 1
    :: else
    fi
}

/* Digests.swift, receiveFromStore; DigestTracker.swift, note. */
inline note(e, n, moved) {
    if
    :: F.epoch < e ->
        F.epoch = e;
        F.number = n;
        doubt(f)
    :: F.epoch == e && n > F.number ->
        if
        :: moved && n == F.number + 1
        :: else ->
#ifndef BAD_GAP_IGNORED
            doubt(f)
#endif
        fi;
        F.number = n
    :: else
    fi;
    if
    :: F.phase == LIVE -> F.known = max(F.known, moved)
    :: isRecording -> F.recorded = max(F.recorded, moved)
    :: else
    fi
}

/* Whether a digest makes a difference. In calm, what was published earlier than the last one received is lost. */
#define isNews(e, n) (F.epoch < (e) || (F.epoch == (e) && F.number < (n)))
#define isNewPosition(p) ((F.phase == LIVE && F.known < (p)) || (isRecording && F.recorded < (p)))

/* The first of the early positions, or what comes behind the known ones: as far as a repair reaches. */
inline findEnd() {
    beyond = F.last + 1;
    do
    :: beyond <= F.known && !isEarly(f, beyond) -> beyond++
    :: else -> break
    od
}

/* Room.swift, fetch; replay.sql; DenseStream.swift, beginRepair and fill. */
inline repair(s) {
    findEnd();
    do
    :: F.last < beyond - 1 && F.last < found(s) -> deliver(F.last + 1)
    :: else -> break
    od;
    F.known = max(F.known, found(s));
    drain(f);
    beyond = 0
}

#define isBehind (F.phase == LIVE && F.known > F.last && !isEarly(f, F.last + 1))

#define CHANGE(seq) \
    :: d_step { !calm && change[seq] && ((F.phase == LIVE && seq > F.last && !isEarly(f, seq)) || \
        (isRecording && F.recorded < seq)) -> take(seq, change[seq]) }

/* With content; and without, which repeats the last number: late, it could only raise another doubt. */
#define DIGEST(e, n) \
    :: d_step { published[e] > n && \
        (isNews(e, n) || (!calm && isNewPosition(digest[at(e, n)]))) -> note(e, n, digest[at(e, n)]) }
#define EMPTY_DIGEST(e) \
    :: d_step { published[e] && isNews(e, published[e] - 1) -> note(e, published[e] - 1, 0) }

#if MESSAGES == 1
#define DIGESTS(e) EMPTY_DIGEST(e) DIGEST(e, 1)
#elif MESSAGES == 2
#define DIGESTS(e) EMPTY_DIGEST(e) DIGEST(e, 1) DIGEST(e, 2)
#else
#define DIGESTS(e) EMPTY_DIGEST(e) DIGEST(e, 1) DIGEST(e, 2) DIGEST(e, 3)
#endif

/* What the owner of a slot answers. */
#define ANSWERS(s) \
    /* bootstrap.sql: a snapshot. */ \
    :: d_step { F.phase == STARTING && stores[s].owns -> F.last = found(s); F.delivered = F.last; F.phase = STARTED } \
    /* PositionCheck.swift; conversation_positions.sql. */ \
    :: d_step { F.doubtful && stores[s].owns -> F.doubtful = 0; F.known = max(F.known, found(s)) } \
    :: d_step { isBehind && stores[s].owns && found(s) > F.last -> repair(s) }

proctype Subscriber(byte f) {
    byte beyond;
end:
    do
    CHANGE(1)
#if MESSAGES > 1
    CHANGE(2)
#endif
#if MESSAGES > 2
    CHANGE(3)
#endif
    DIGESTS(1)
#if FAULTS > 0
    DIGESTS(2)
#endif
#if FAULTS > 1
    DIGESTS(3)
#endif
#if FAULTS > 2
    DIGESTS(4)
#endif
    ANSWERS(0) ANSWERS(1)
    :: d_step { F.phase == ABSENT -> F.phase = STARTING }
    /* Rooms.swift, open and applyRecordedPositions. */
    :: d_step { F.phase == STARTED ->
        F.phase = LIVE;
#ifdef BAD_NOTHING_RECORDED
        F.known = F.last;
#else
        F.known = max(F.last, F.recorded);
        F.doubtful = F.isRecordedInDoubt;
#endif
        F.recorded = 0;
        F.isRecordedInDoubt = 0
    }
    od
}

/* MARK: Faults */

/* The client is gone, the server does not know: what it had received may still happen. */
inline loseConnection(s) {
    if
    :: session[s].stage == SENT || session[s].stage == BEGUN ->
        session[s + 2].alive = 1;
        session[s + 2].stage = session[s].stage;
        session[s + 2].message = session[s].message;
        session[s + 2].epoch = session[s].epoch
    :: else
    fi;
#ifndef LOCK_ELSEWHERE
    if
    :: session[s].locked -> session[s + 2].alive = 1; session[s + 2].locked = 1
    :: else
    fi;
#endif
    if
    :: session[s + 2].alive -> session[s + 2].node = session[s].node
    :: else
    fi;
    forget(s);
    loseEverything(s)
}

/* The server ends a session: the locks are free, what it had not committed is rolled back. The store finds out later. */
inline endSession(s) {
#ifdef TWO_PHASE
    if
    :: session[s].stage == BEGUN && !session[s + 2].alive -> /* A transaction that is prepared stays. */
        session[s + 2].alive = 1;
        session[s + 2].node = session[s].node;
        session[s + 2].stage = PREPARED;
        session[s + 2].message = session[s].message;
        session[s + 2].epoch = session[s].epoch
    :: else
    fi;
#endif
    session[s].alive = 0;
    session[s].locked = 0;
    session[s].unlocking = 0
}

inline endOrphan(k) {
    if
    :: session[k].stage != PREPARED -> forget(k)
    :: else
    fi
}

#ifdef BAD_STALE_ANSWER
#define replaceDatabase() staleLength = length; stores[0].isStale = 1; stores[1].isStale = 1
#else
#define replaceDatabase() skip
#endif

#ifdef LOCK_ELSEWHERE
#define unlocksAtOnce(s) true
#else
#define unlocksAtOnce(s) (session[s].stage != SENT && session[s].stage != BEGUN)
#endif

#define FAULTS_OF(s) \
    /* A store is killed, or its connection is cut. */ \
    :: d_step { mayFail && stores[s].connected && session[s].alive && !session[s + 2].alive -> \
        faults++; loseConnection(s) } \
    /* SilentMembers.swift, end_session.sql: of a store that stands still; or an operator ends the session. */ \
    :: d_step { mayFail && stores[s].connected && session[s].alive -> faults++; endSession(s) } \
    /* SlotOwner.swift, release: another store has come, and gets its share. */ \
    :: d_step { mayFail && stores[s].owns && session[s].alive -> \
        faults++; \
        loseSlot(s); \
        if \
        :: unlocksAtOnce(s) -> session[s].locked = 0 \
        :: else -> session[s].unlocking = 1 \
        fi }

#define mayFail (!calm && faults < FAULTS)

proctype Fault() {
end:
    do
    FAULTS_OF(0)
    FAULTS_OF(1)
    /* The primary, or the node with the rows, is killed, and replaced by its synchronous standby or started again. */
    :: d_step { mayFail ->
        faults++;
        if
        :: session[0].alive && session[0].node == home -> endSession(0)
        :: else
        fi;
        if
        :: session[1].alive && session[1].node == home -> endSession(1)
        :: else
        fi;
        if
        :: session[2].alive && session[2].node == home -> endOrphan(2)
        :: else
        fi;
        if
        :: session[3].alive && session[3].node == home -> endOrphan(3)
        :: else
        fi;
        replaceDatabase()
    }
#ifdef CITUS
    /* citus_move_shard_placement waits for those who write, and they for it. */
    :: d_step { mayFail && nobodyWrites ->
        faults++;
        home = 1 - home;
        replaceDatabase()
    }
#endif
#ifdef LOCK_ELSEWHERE
    /* The session with the lock is ended alone. */
    :: d_step { mayFail && stores[0].owns -> faults++; session[0].locked = 0; loseSlot(0) }
    :: d_step { mayFail && stores[1].owns -> faults++; session[1].locked = 0; loseSlot(1) }
#endif
    od
}

/* MARK: What is promised in the end */

#define hasEverything(f) (fanouts[f].phase == LIVE && fanouts[f].delivered == MESSAGES)

proctype Calm() {
    d_step {
        responses == MESSAGES;
        calm = 1;
        stores[0].isStale = 0;
        stores[1].isStale = 0
    };
    timeout; /* Nothing more can happen. */
    assert(length == MESSAGES);
    assert(hasEverything(0));
#ifndef ONE_FANOUT
    assert(hasEverything(1))
#endif
}

init {
    byte m;
    atomic {
#ifndef ONE_FANOUT
        fanouts[0].phase = LIVE;
        run Subscriber(0); run Subscriber(1);
#else
        if
        :: fanouts[0].phase = LIVE
        :: fanouts[0].phase = ABSENT
        fi;
        run Subscriber(0);
#endif
        /* Store 0 owns the slot. */
        stores[0].connected = 1;
        stores[1].connected = 1;
        session[0].alive = 1;
        session[1].alive = 1;
        acquire(0);
        run Backend(0); run Backend(1); run Backend(2); run Backend(3);
        run Owner(0); run Owner(1);
        m = 1;
        do
        :: m <= MESSAGES -> run Ingest(m); m++
        :: else -> break
        od;
        run Fault();
        run Calm()
    }
}
