import Archives
import CommandSupport
import Glibc
import Models
import Reactor

/// Keeps up with a `chat.db`: asks what is new, has it carried out, and has it noted.
@Reactor
final class Follow {
    enum End {
        case stopped
        case unfinished(reason: String)
    }

    private let follower: ChatFollower
    let sender: LiveSender
    private let patience: Duration
    private(set) var refusals = Refusals()
    private var sourceTrouble: String?
    private var lastLook = MonotonicTime.now

    private static let interval = Duration.milliseconds(500)
    /// Between two looks at older rows, so that they take a small part of a processor.
    private static let rest = Duration.milliseconds(50)
    private static let lanes = 8

    init(_ follower: ChatFollower, _ sender: LiveSender, patience: Duration) {
        self.follower = follower
        self.sender = sender
        self.patience = patience
    }

    var trouble: String? { sender.trouble ?? sourceTrouble }

    func stop() { sender.isStopping = true }

    func run() async -> End {
        while !sender.isStopping {
            do {
                try await turn()
                (sourceTrouble, lastLook) = (nil, .now)
            } catch {
                sourceTrouble = "\(error)"
                await follower.beginAgain()
                if MonotonicTime.now - lastLook > patience { return .unfinished(reason: "\(error)") }
                await Reactor.sleep(for: Self.interval)
            }
            if let end = sender.end { return .unfinished(reason: end) }
        }
        return .stopped
    }

    private func turn() async throws {
        switch try await follower.next() {
        case .work(let work): try await carryOut(work)
        case .looking:
            sender.countIdle()
            await Reactor.sleep(for: Self.rest)
        case .idle:
            sender.countIdle()
            await Reactor.sleep(for: Self.interval)
        }
    }

    /// Conversations do not wait for each other.
    private func carryOut(_ work: [FollowWork]) async throws {
        var rest = work[...]
        while !rest.isEmpty {
            let some = rest.prefix(Self.lanes)
            rest = rest.dropFirst(some.count)
            let tasks = some.map { each in Task { @Reactor in try await carryOut(each) } }
            for task in tasks { try await task.value }
        }
    }

    private func carryOut(_ work: FollowWork) async throws {
        for step in work.steps {
            guard let seq = await carryOut(step, work) else { return }
            try await follower.done(step, at: seq == 0 ? nil : seq)
        }
    }

    /// Returns the position of the step's first message, 0 without one; nil if it is not finished.
    private func carryOut(_ step: FollowStep, _ work: FollowWork) async -> Int64? {
        var position: Int64 = 0
        for keyed in step.operations {
            switch await sender.perform(keyed, in: work) {
            case .unfinished: return nil
            case .done(let seq): if position == 0, let seq, keyed.operation.hasPosition { position = seq }
            case .refused(let reason):
                refuse(reason, at: step.place, keyed.operation.kind)
                // Without its message nothing else of it has a meaning.
                if keyed.operation.kind == .send { return position }
            }
        }
        return position
    }

    private func refuse(_ reason: Refusals.Reason, at place: SourcePlace, _ kind: LiveOperation.Kind) {
        let named = refusals.first.count
        refusals.add(reason, at: place, kind.rawValue)
        if refusals.first.count > named, let example = refusals.first.last {
            Terminal.tell("parley: refused:\(example)")
        }
    }
}

extension LiveOperation {
    /// Whether its position is to be noted: that of a message, and of a receipt.
    fileprivate var hasPosition: Bool { [.send, .receipt].contains(kind) }
}
