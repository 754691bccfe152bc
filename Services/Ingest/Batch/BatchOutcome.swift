import Bus
import Bytes
import JSON
import Models
import Wire

/// Puts a batch together from what its parts came to: which messages travel as one request, and one result per item, in
/// the order of the items.
///
/// The messages of one conversation travel together, so that the store commits them in their order.
struct BatchOutcome {
    enum Result {
        case pending
        case problem(Problem)
        /// An answer of the store, in the memory of a frame that is kept.
        case answered(status: UInt16, body: UnsafeRawBufferPointer)
    }

    /// The items of one conversation, by their positions in the batch.
    struct Group: Equatable {
        let conversation: ConversationID
        var positions: [Int]
    }

    private(set) var groups: [Group] = []
    private var results: [Result]
    private var groupOf: [ConversationID: Int] = [:]
    /// The frames that results lie in.
    private var frames: [FrameSlice] = []

    init(count: Int) { results = Array(repeating: .pending, count: count) }

    mutating func refuse(_ position: Int, _ problem: Problem) { results[position] = .problem(problem) }

    mutating func add(_ position: Int, to conversation: ConversationID) {
        if let group = groupOf[conversation] {
            groups[group].positions.append(position)
        } else {
            groupOf[conversation] = groups.count
            groups.append(Group(conversation: conversation, positions: [position]))
        }
    }

    /// Takes what the store said to a group.
    mutating func answered(_ group: Int, _ answer: Answer) {
        frames.append(answer.payload)
        answered(group, status: answer.status, answer.payload.bytes)
    }

    /// As above, for bytes that outlive the outcome.
    mutating func answered(_ group: Int, status: UInt16, _ payload: UnsafeRawBufferPointer) {
        var reader = ByteReader(payload)
        do throws(WireError) {
            guard status < 400 else { return failed(group, try Problem(from: &reader)) }
            for position in groups[group].positions {
                let (status, body) = try SendAnswer.next(from: &reader)
                results[position] = .answered(status: status, body: body)
            }
        } catch {
            failed(group, .answerNotUnderstood)
        }
    }

    /// Nothing is known of the group, or all of it was refused. Of what was refused for now, only the first message was
    /// tried: the others must not overtake it when it is repeated alone.
    mutating func failed(_ group: Int, _ problem: Problem) {
        let isForNow = problem.code == .rateLimited || problem.code == .overloaded
        for (index, position) in groups[group].positions.enumerated() {
            results[position] = .problem(isForNow && index > 0 ? .skipped : problem)
        }
    }

    /// `{"results":[{"status":201,"message":{…}},{"status":404,"problem":{…}}]}`
    func write(to buffer: inout ByteBuffer) {
        buffer.beginObject()
        buffer.append(key: "results")
        buffer.beginArray()
        for result in results {
            buffer.beginElement()
            write(result, to: &buffer)
        }
        buffer.endArray()
        buffer.endObject()
    }

    private func write(_ result: Result, to buffer: inout ByteBuffer) {
        switch result {
        case .pending: preconditionFailure("a batch is written when all its groups are answered")
        case .problem(let problem): write(problem, to: &buffer)
        case .answered(let status, let body) where status < 400:
            buffer.beginObject()
            buffer.append(key: "status", json: Int(status))
            buffer.append(key: "message", encoded: body)
            buffer.endObject()
        case .answered(_, let body):
            var reader = ByteReader(body)
            write((try? Problem(from: &reader)) ?? .answerNotUnderstood, to: &buffer)
        }
    }

    private func write(_ problem: Problem, to buffer: inout ByteBuffer) {
        buffer.beginObject()
        buffer.append(key: "status", json: Int(problem.code.status))
        buffer.append(key: "problem")
        problem.writeJSON(to: &buffer)
        buffer.endObject()
    }
}

extension Problem {
    static let answerNotUnderstood = Problem(.unavailable, "the answer could not be read: repeat the request")
    static let skipped = Problem(.skipped, "an earlier message of this conversation has to be repeated first")
}
