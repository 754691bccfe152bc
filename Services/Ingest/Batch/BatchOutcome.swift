import Bus
import Bytes
import JSON
import Models
import Wire

/// Groups the messages of a batch into requests, and collects one result per item, in the order of the items.
///
/// The messages of one conversation form one request, so that the store commits them in their order.
struct BatchOutcome {
    enum Result {
        case pending
        case problem(Problem)
        /// A response from the store, in the memory of a frame in `frames`.
        case response(status: UInt16, body: UnsafeRawBufferPointer)
    }

    /// The items of one conversation, by their positions in the batch.
    struct Group: Equatable {
        let conversation: ConversationID
        var positions: [Int]
    }

    private(set) var groups: [Group] = []
    private var results: [Result]
    private var groupOf: [ConversationID: Int] = [:]
    /// The frames that hold the results' bytes.
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

    /// Records the store's response to a group.
    mutating func receive(_ response: BusResponse, for group: Int) {
        frames.append(response.payload)
        receive(status: response.status, response.payload.bytes, for: group)
    }

    /// Records the response to a group, in bytes that outlive the outcome.
    mutating func receive(status: UInt16, _ payload: UnsafeRawBufferPointer, for group: Int) {
        var reader = ByteReader(payload)
        do throws(WireError) {
            guard status < 400 else { return fail(group, try Problem(from: &reader)) }
            for position in groups[group].positions {
                let (status, body) = try SendResponse.next(from: &reader)
                results[position] = .response(status: status, body: body)
            }
        } catch {
            fail(group, .unreadableResponse)
        }
    }

    /// Records that the group's outcome is unknown, or that all of it was refused. If the refusal is temporary, the
    /// later messages are marked as skipped, so that none overtakes the first when that is repeated alone.
    mutating func fail(_ group: Int, _ problem: Problem) {
        let isTemporary = problem.code == .rateLimited || problem.code == .overloaded
        for (index, position) in groups[group].positions.enumerated() {
            results[position] = .problem(isTemporary && index > 0 ? .skipped : problem)
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
        case .pending: preconditionFailure("a batch is written when all its groups have results")
        case .problem(let problem): write(problem, to: &buffer)
        case .response(let status, let body) where status < 400:
            buffer.beginObject()
            buffer.append(key: "status", json: Int(status))
            buffer.append(key: "message", encoded: body)
            buffer.endObject()
        case .response(_, let body):
            var reader = ByteReader(body)
            write((try? Problem(from: &reader)) ?? .unreadableResponse, to: &buffer)
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
    static let unreadableResponse = Problem(.unavailable, "the response could not be read: repeat the request")
    static let skipped = Problem(.skipped, "an earlier message of this conversation must be repeated first")
}
