import Bytes
import Models
import Reactor
import Wire

/// How a request ended.
public enum RequestOutcome: Sendable {
    case response(BusResponse)
    /// The deadline passed. Whether the request had an effect is unknown; repeating it is safe.
    case timedOut
    /// Too many requests are in flight: nothing was sent.
    case full
}

/// The response to a request.
public struct BusResponse: Sendable {
    /// The status code, as in HTTP.
    public let status: UInt16
    /// A slice of the frame it arrived in, which it keeps alive. Below status 400 the request's kind determines its
    /// layout; from 400 on it is a `Problem`.
    public let payload: FrameSlice
}

/// A request in flight: the entry to publish again, and the callback that takes the outcome.
struct PendingRequest {
    var topic: Topic
    var slot: Slot
    var entry: [UInt8]
    /// When a command was published first; nil for what is not measured.
    var sent: MonotonicTime?
    var completion: @Reactor (RequestOutcome) -> Void
}

// MARK: Sending requests

extension Bus {
    /// Sends a request to the store that owns `slot` and repeats it until there is a response or `deadline` has passed. A
    /// command is repeated no sooner than commands take at present, and not while it waits its turn there.
    /// Calls `completion` exactly once, on the reactor. When too many requests are in flight, it does so before this
    /// returns.
    public func request(
        _ kind: StoreRequestKind, in slot: Slot, deadline: Duration, trace: TraceContext? = nil,
        fields: (inout ByteBuffer) -> Void, completion: @escaping @Reactor (RequestOutcome) -> Void
    ) {
        let sent: MonotonicTime? = kind.isCommand ? .now : nil
        let firstWait = max(.milliseconds(100), kind.isCommand ? commands.bound : .zero)
        request(.command(slot.group), slot, kind.rawValue, trace, sent, firstWait, deadline, fields, completion)
    }

    /// Sends a request to the receipt service that owns `slot`, as above. A signal waits longer before it is repeated:
    /// it may spend a window of 100 ms, or half a second for messages, before it is committed.
    public func request(
        _ kind: ReceiptRequestKind, in slot: Slot, deadline: Duration, fields: (inout ByteBuffer) -> Void,
        completion: @escaping @Reactor (RequestOutcome) -> Void
    ) {
        let firstWait = Duration.milliseconds(kind == .signal ? 1_000 : 100)
        request(.receiptCommand(slot.group), slot, kind.rawValue, nil, nil, firstWait, deadline, fields, completion)
    }

    /// Sends a request to a store and returns its outcome.
    public func request(
        _ kind: StoreRequestKind, in slot: Slot, deadline: Duration, fields: (inout ByteBuffer) -> Void
    ) async -> RequestOutcome {
        await withUnsafeContinuation { continuation in
            request(kind, in: slot, deadline: deadline, fields: fields) { continuation.resume(returning: $0) }
        }
    }

    /// Sends a request to a receipt service and returns its outcome.
    public func request(
        _ kind: ReceiptRequestKind, in slot: Slot, deadline: Duration, fields: (inout ByteBuffer) -> Void
    ) async -> RequestOutcome {
        await withUnsafeContinuation { continuation in
            request(kind, in: slot, deadline: deadline, fields: fields) { continuation.resume(returning: $0) }
        }
    }

    /// Sends a request to the media service that owns the slot of the user, and calls `completion` as above. A file may be
    /// looked up on a disk before there is a response.
    public func request(
        _ kind: MediaRequestKind, of user: UserID, deadline: Duration, trace: TraceContext? = nil,
        fields: (inout ByteBuffer) -> Void, completion: @escaping @Reactor (RequestOutcome) -> Void
    ) {
        let slot = user.slot
        request(
            .mediaCommand(slot.group), slot, kind.rawValue, trace, nil, .milliseconds(100), deadline, fields, completion
        )
    }

    /// Sends a request to a media service and returns its outcome.
    public func request(
        _ kind: MediaRequestKind, of user: UserID, deadline: Duration, fields: (inout ByteBuffer) -> Void
    ) async -> RequestOutcome {
        await withUnsafeContinuation { continuation in
            request(kind, of: user, deadline: deadline, fields: fields) { continuation.resume(returning: $0) }
        }
    }

    public var requestsInFlight: Int { requests.count }

    private func request(
        _ topic: Topic, _ slot: Slot, _ kind: UInt8, _ trace: TraceContext?, _ sent: MonotonicTime?,
        _ firstWait: Duration, _ deadline: Duration, _ fields: (inout ByteBuffer) -> Void,
        _ completion: @escaping @Reactor (RequestOutcome) -> Void
    ) {
        guard !requests.isFull else {
            counters.requestsRefused += 1
            return completion(.full)
        }
        counters.requests += 1
        _ = requests.start(
            { number in
                let entry = publish(number, topic, slot, kind, trace, fields)
                return PendingRequest(topic: topic, slot: slot, entry: entry, sent: sent, completion: completion)
            }, firstWait: firstWait, deadline: deadline, now: .now)
        scheduleRequestCheck()
    }

    /// Publishes a request for the first time and returns its bytes, which repetitions publish again.
    private func publish(
        _ number: RequestNumber, _ topic: Topic, _ slot: Slot, _ kind: UInt8, _ trace: TraceContext?,
        _ fields: (inout ByteBuffer) -> Void
    ) -> [UInt8] {
        var entry: [UInt8] = []
        append(to: topic) { buffer in
            let start = buffer.count
            RequestEntry.write(number, slot, kind: kind, trace: trace, to: &buffer, fields: fields)
            entry = Array(buffer.bytes[start...])
        }
        return entry
    }

    private func scheduleRequestCheck() {
        guard !isRequestCheckScheduled else { return }
        isRequestCheckScheduled = true
        Reactor.after(TimerWheel.tick) { [weak self] in self?.checkRequests() }
    }

    private func checkRequests() {
        isRequestCheckScheduled = false
        let now = MonotonicTime.now
        repeatServed(now)
        let isWaiting = { [progress] (request: PendingRequest, wait: Duration) in
            guard let sent = request.sent else { return false }
            return progress.isWaiting(since: sent, in: request.slot, heardWithin: wait, at: now)
        }
        for action in requests.advance(to: now, isWaiting: isWaiting) {
            switch action {
            case .publishAgain(_, let request):
                counters.requestsRepeated += 1
                append(to: request.topic) { $0.append(request.entry) }
            case .timedOut(let request):
                counters.requestsTimedOut += 1
                request.completion(.timedOut)
            }
        }
        if requests.count > 0 { scheduleRequestCheck() }
    }

    /// What was published for these slots before is lost, or waits there already and is dropped there.
    func receiveServed(_ frame: InboundFrame) {
        guard requests.count > 0 else { return }
        for bytes in frame.entries {
            var reader = ByteReader(bytes)
            if let slot = try? ServedSlot(from: &reader) { served.insert(slot) } else { refuseEntry(of: frame) }
        }
    }

    /// A tick or two after the owner has said so: its subscription may take another connection, and as long.
    private func repeatServed(_ now: MonotonicTime) {
        guard !served.isEmpty else { return }
        requests.repeatSoon(at: now) { served.contains(ServedSlot($0.slot, requests: $0.topic)) }
        served = []
    }

    func receiveResponses(_ frame: InboundFrame) {
        let now = MonotonicTime.now
        for bytes in frame.entries {
            guard let response = try? ResponseEntry(bytes) else {
                counters.framesRefused += 1
                refuseEntry(of: frame)
                continue
            }
            guard
                let request = requests.complete(
                    response.number, where: { frame.sender ?? $0.topic.responder == $0.topic.responder })
            else {
                counters.lateResponses += 1
                continue
            }
            if let sent = request.sent { note(response, from: frame.origin, to: request.slot, sent: sent, at: now) }
            request.completion(.response(BusResponse(status: response.status, payload: frame.slice(response.payload))))
        }
    }

    private func note(
        _ response: ResponseEntry, from store: Instance, to slot: Slot, sent: MonotonicTime, at now: MonotonicTime
    ) {
        commands.add(from: sent, to: now)
        // A refusal for overload overtakes those that wait.
        guard response.status != Problem.Code.overloaded.status else { return }
        progress.add(from: sent, to: now, in: slot, by: store)
    }
}

// MARK: Serving requests

extension Bus {
    /// Returns whether to process a request that arrived. After `.new`, the caller must respond to it or abandon it.
    public func admit(_ request: RequestKey) -> Admission {
        let admission = inboundRequests.begin(request)
        if case .alreadyInFlight = admission { counters.repetitionsDropped += 1 }
        return admission
    }

    /// Calls `body` with a request that arrived, unless it repeats one in flight. `body` must respond to it or abandon it.
    /// If too many are in flight, it is dropped: its sender repeats it until its deadline.
    public func begin(_ request: RequestKey, _ body: () -> Void) {
        if case .new = admit(request) { body() }
    }

    /// The number of received requests that have no response yet.
    public var inboundRequestsInFlight: Int { inboundRequests.count }

    /// Responds to a request at the end of the turn. From now on its repetitions are processed again.
    public func respond(to request: RequestKey, status: UInt16, payload: (inout ByteBuffer) -> Void = { _ in }) {
        inboundRequests.end(request)
        append(to: .response(request.origin)) { buffer in
            ResponseEntry.write(request.number, status: status, to: &buffer, payload: payload)
        }
    }

    /// Ends a request without a response, for example because the database connection was lost. Its next repetition is
    /// processed again.
    public func abandon(_ request: RequestKey) { inboundRequests.end(request) }

    public func respond(to request: RequestKey, _ problem: Problem) {
        respond(to: request, status: problem.code.status) { problem.write(to: &$0) }
    }
}
