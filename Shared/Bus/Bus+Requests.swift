import Bytes
import Models
import Reactor
import Wire

/// How a request ended.
public enum RequestOutcome: Sendable {
    case answered(Answer)
    /// The deadline passed. Whether the request had an effect is unknown; asking again is safe.
    case timedOut
    /// Too many requests are in flight: nothing was sent.
    case full
}

/// The answer to a request.
public struct Answer: Sendable {
    /// As in HTTP.
    public let status: UInt16
    /// Still in the frame it came in, which it keeps alive. Below status 400 what the request's kind says, from there on
    /// a `Problem`.
    public let payload: FrameSlice
}

/// A request in flight: what to publish again, and whom to tell.
struct PendingRequest {
    var topic: Topic
    var entry: [UInt8]
    var completion: @Reactor (RequestOutcome) -> Void
}

// MARK: Asking

extension Bus {
    /// Asks the store that owns `slot`, again and again until it answers or `deadline` has passed. `completion` is called
    /// exactly once, on the reactor; when too many requests are in flight, before this returns.
    public func request(
        _ kind: StoreRequestKind, in slot: Slot, deadline: Duration, trace: TraceContext? = nil,
        fields: (inout ByteBuffer) -> Void, completion: @escaping @Reactor (RequestOutcome) -> Void
    ) {
        request(.command(slot.group), slot, kind.rawValue, trace, .milliseconds(100), deadline, fields, completion)
    }

    /// Asks the receipt service that owns `slot`, as above. Signals are given more time before they are repeated, because
    /// they may wait out a window of 100 ms, and half a second for messages, before they are committed.
    public func request(
        _ kind: ReceiptRequestKind, in slot: Slot, deadline: Duration, fields: (inout ByteBuffer) -> Void,
        completion: @escaping @Reactor (RequestOutcome) -> Void
    ) {
        let firstWait = Duration.milliseconds(kind == .signal ? 1_000 : 100)
        request(.receiptCommand(slot.group), slot, kind.rawValue, nil, firstWait, deadline, fields, completion)
    }

    /// Asks a store, and suspends until the outcome is there.
    public func request(
        _ kind: StoreRequestKind, in slot: Slot, deadline: Duration, fields: (inout ByteBuffer) -> Void
    ) async -> RequestOutcome {
        await withUnsafeContinuation { continuation in
            request(kind, in: slot, deadline: deadline, fields: fields) { continuation.resume(returning: $0) }
        }
    }

    /// Asks a receipt service, and suspends until the outcome is there.
    public func request(
        _ kind: ReceiptRequestKind, in slot: Slot, deadline: Duration, fields: (inout ByteBuffer) -> Void
    ) async -> RequestOutcome {
        await withUnsafeContinuation { continuation in
            request(kind, in: slot, deadline: deadline, fields: fields) { continuation.resume(returning: $0) }
        }
    }

    public var requestsInFlight: Int { requests.count }

    private func request(
        _ topic: Topic, _ slot: Slot, _ kind: UInt8, _ trace: TraceContext?, _ firstWait: Duration,
        _ deadline: Duration, _ fields: (inout ByteBuffer) -> Void,
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
                return PendingRequest(topic: topic, entry: entry, completion: completion)
            }, firstWait: firstWait, deadline: deadline, now: .now)
        planRequestCheck()
    }

    /// Publishes a request for the first time and returns its bytes for the next.
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

    private func planRequestCheck() {
        guard !isRequestCheckPlanned else { return }
        isRequestCheckPlanned = true
        Reactor.after(TimerWheel.tick) { [weak self] in self?.checkRequests() }
    }

    private func checkRequests() {
        isRequestCheckPlanned = false
        for action in requests.advance(to: .now) {
            switch action {
            case .publishAgain(_, let request):
                counters.requestsRepeated += 1
                append(to: request.topic) { $0.append(request.entry) }
            case .timedOut(let request):
                counters.requestsTimedOut += 1
                request.completion(.timedOut)
            }
        }
        if requests.count > 0 { planRequestCheck() }
    }

    func receiveAnswers(_ frame: InboundFrame) {
        for bytes in frame.entries {
            guard let answer = try? ResponseEntry(bytes) else {
                counters.framesRefused += 1
                refuseEntry(of: frame)
                continue
            }
            guard
                let request = requests.answer(
                    answer.number, where: { frame.sender ?? $0.topic.responder == $0.topic.responder })
            else {
                counters.answersLate += 1
                continue
            }
            request.completion(.answered(Answer(status: answer.status, payload: frame.slice(answer.payload))))
        }
    }
}

// MARK: Answering

extension Bus {
    /// Whether a request that arrived has to be worked on. After `.new` it has to be answered or abandoned, whatever
    /// happens.
    public func beginWork(on request: RequestKey) -> Admission {
        let admission = requestsInWork.begin(request)
        if case .alreadyInWork = admission { counters.repetitionsDropped += 1 }
        return admission
    }

    /// Requests that were begun and not answered yet.
    public var requestsBegun: Int { requestsInWork.count }

    /// Answers a request at the end of the turn; its repetitions are worked on again from now on.
    public func answer(_ request: RequestKey, status: UInt16, payload: (inout ByteBuffer) -> Void = { _ in }) {
        requestsInWork.end(request)
        append(to: .response(request.origin)) { buffer in
            ResponseEntry.write(request.number, status: status, to: &buffer, payload: payload)
        }
    }

    /// Gives a request back unanswered, as when the database went away under it: its next repetition is worked on anew.
    public func abandon(_ request: RequestKey) { requestsInWork.end(request) }

    public func answer(_ request: RequestKey, _ problem: Problem) {
        answer(request, status: problem.code.status) { problem.write(to: &$0) }
    }
}
