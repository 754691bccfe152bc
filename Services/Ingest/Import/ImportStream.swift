import Bytes
import JSON
import Models
import Reactor
import Wire

/// The body of an import on its way: bytes in, requests to stores and receipt services out, and one result a line, in the
/// order of lines.
///
/// Records of one conversation go out in their order, one request at a time (`ImportQueues`); what arrives meanwhile
/// forms the next. Conversations do not wait for each other. What is kept is bounded: whoever feeds it stops while `isFull`.
struct ImportStream {
    struct Bounds {
        var recordsPerRequest = 500
        var bytesPerRequest = 512 * 1024
        var requestsInFlight = 8
        /// Lines without a written result, and the bytes of their records. The last piece of the body may exceed both.
        var lines = 8_192
        var bytes = 2 * 1024 * 1024
        /// Less where fewer bytes are held, but a body of a usual size.
        var lineBytes = ContractLimits.importLineBytes
        /// Conversations that are given up. Beyond them everything is.
        var failedConversations = 1_024
    }

    typealias Request = ImportQueues.Request

    private enum Result {
        case pending
        case stored
        case refused(Problem)

        var isKnown: Bool { if case .pending = self { false } else { true } }
    }

    private struct Line {
        let number: Int
        var result = Result.pending
    }

    private let limits: ClientLimits
    private let bounds: Bounds
    /// The beginning of a line whose end has not arrived.
    private var partial: [UInt8] = []
    /// The line that arrives is too long: the rest of it is passed over.
    private var isPassingOver = false
    private var lineCount = 0

    /// Lines without a written result, and how many had theirs written before them.
    private var lines: [Line] = []
    private var written = 0

    /// What waits or is in flight, and what may be sent, in turns.
    private var queues: [ConversationID: ImportQueues] = [:]
    private var turns = FIFO<(ConversationID, ImportQueues.Destination)>()
    private var inFlightCount = 0
    private var heldBytes = 0
    /// Conversations of which a record has no result: later ones must not overtake it.
    private var failed: Set<ConversationID> = []

    init(limits: ClientLimits, bounds: Bounds = Bounds()) {
        self.limits = limits
        self.bounds = bounds
    }

    /// Whether nothing more is to be read until results are written.
    var isFull: Bool { lines.count >= bounds.lines || heldBytes + partial.count >= bounds.bytes }

    /// Whether every line so far has its result, and all are written.
    var isDone: Bool { lines.isEmpty }

    /// Whether `writeResults` has something to write.
    var hasResults: Bool { lines.first?.result.isKnown ?? false }

    // MARK: Lines

    /// Takes bytes of the body, which may begin and end within a line.
    mutating func take(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            endLine(with: UnsafeRawBufferPointer(rebasing: rest[..<end]))
            rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
        }
        keep(rest)
    }

    /// The body is complete. Its last line may lack a line feed.
    mutating func finish() {
        if !partial.isEmpty || isPassingOver { endLine(with: UnsafeRawBufferPointer(start: nil, count: 0)) }
    }

    private mutating func keep(_ piece: UnsafeRawBufferPointer) {
        guard !isPassingOver else { return }
        partial.append(contentsOf: piece)
        guard partial.count > bounds.lineBytes else { return }
        isPassingOver = true
        partial = []
    }

    private mutating func endLine(with rest: UnsafeRawBufferPointer) {
        lineCount += 1
        if partial.isEmpty, !isPassingOver, rest.count <= bounds.lineBytes { return read(rest) }
        keep(rest)
        let line = partial
        partial.removeAll(keepingCapacity: true)
        if isPassingOver {
            isPassingOver = false
            refuse(Problem(.tooLarge, "a line has at most \(bounds.lineBytes) bytes"))
        } else {
            line.withUnsafeBytes { read($0) }
        }
    }

    private mutating func read(_ line: UnsafeRawBufferPointer) {
        guard line.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }) else { return }
        do throws(Problem) {
            add(try ImportFields(line, limits: limits))
        } catch {
            refuse(error)
        }
    }

    private mutating func add(_ fields: ImportFields) {
        guard !isGivenUp(fields.conversation) else { return refuse(.skippedRecord) }
        var buffer = ByteBuffer()
        fields.write(to: &buffer)
        let record = buffer.array, conversation = fields.conversation
        heldBytes += record.count
        queues[conversation, default: ImportQueues(conversation)].append(
            record, at: written + lines.count, isReceipt: fields.isReceipt, isEnd: fields.isEnd, bounds)
        noteTurns(of: conversation)
        lines.append(Line(number: lineCount))
    }

    private mutating func refuse(_ problem: Problem) {
        lines.append(Line(number: lineCount, result: .refused(problem)))
    }

    private func isGivenUp(_ conversation: ConversationID) -> Bool {
        failed.count >= bounds.failedConversations || failed.contains(conversation)
    }

    // MARK: Requests

    private mutating func noteTurns(of conversation: ConversationID) {
        for destination in queues[conversation]?.newTurns() ?? [] { turns.append((conversation, destination)) }
    }

    /// Returns a request that is to be sent now. It is in flight until `receive`.
    mutating func nextRequest() -> Request? {
        guard inFlightCount < bounds.requestsInFlight else { return nil }
        while let (conversation, destination) = turns.popFirst() {
            guard let request = queues[conversation]?.take(destination) else { continue }
            inFlightCount += 1
            return request
        }
        return nil
    }

    /// Takes the response to a request.
    mutating func receive(status: UInt16, _ payload: UnsafeRawBufferPointer, for request: Request) {
        var reader = ByteReader(payload)
        do throws(WireError) {
            guard status < 400 else { return fail(request, with: try Problem(from: &reader)) }
            var results: [Result] = []
            for _ in request.places {
                let (status, body) = try SendResponse.next(from: &reader)
                var reader = ByteReader(body)
                results.append(status < 400 ? .stored : .refused(try Problem(from: &reader)))
            }
            end(request, results)
        } catch {
            fail(request, with: .unreadableResponse)
        }
    }

    /// Gives a request up: what became of it is not known, or it was refused as a whole. What comes later of the conversation is
    /// skipped, so that it does not overtake these records when they are repeated.
    mutating func fail(_ request: Request, with problem: Problem) {
        failed.insert(request.conversation)
        for later in queues[request.conversation]?.removeWaiting() ?? [] {
            settle(later, later.places.map { _ in .refused(.skippedRecord) })
        }
        end(request, request.places.map { _ in .refused(problem) })
    }

    private mutating func end(_ request: Request, _ results: [Result]) {
        inFlightCount -= 1
        queues[request.conversation]?.answer(request.destination)
        settle(request, results)
        if queues[request.conversation]?.isIdle == true { queues[request.conversation] = nil }
        noteTurns(of: request.conversation)
    }

    private mutating func settle(_ request: Request, _ results: [Result]) {
        heldBytes -= request.records.count
        for (place, result) in zip(request.places, results) { lines[place - written].result = result }
    }

    // MARK: Results

    /// Writes results of lines, from the first that has none written: `{"line":7,"status":200}`. Ends at a line that has
    /// no result yet, or behind so many bytes.
    @discardableResult
    mutating func writeResults(to buffer: inout ByteBuffer, upTo bytes: Int) -> (stored: Int, refused: Int) {
        let end = buffer.count + bytes
        var stored = 0
        var refused = 0
        results: while stored + refused < lines.count, buffer.count < end {
            let line = lines[stored + refused]
            switch line.result {
            case .pending: break results
            case .stored:
                Self.write(line.number, status: 200, nil, to: &buffer)
                stored += 1
            case .refused(let problem):
                Self.write(line.number, status: problem.code.status, problem, to: &buffer)
                refused += 1
            }
        }
        lines.removeFirst(stored + refused)
        written += stored + refused
        return (stored, refused)
    }

    private static func write(_ line: Int, status: UInt16, _ problem: Problem?, to buffer: inout ByteBuffer) {
        buffer.beginObject()
        buffer.append(key: "line", json: line)
        buffer.append(key: "status", json: Int(status))
        if let problem {
            buffer.append(key: "problem")
            problem.writeJSON(to: &buffer)
        }
        buffer.endObject()
        buffer.append("\n")
    }
}

extension Problem {
    fileprivate static let skippedRecord = Problem(
        .skipped, "an earlier record of this conversation must be repeated first")
}
