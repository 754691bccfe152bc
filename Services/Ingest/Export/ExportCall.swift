import Bus
import Bytes
import Edge
import Models
import Reactor
import ServiceKit
import Wire

/// `GET /v1/export/…` on its way: one page after the other from the stores, as fast as the client reads.
///
/// A page that a store has no time for is asked for again, as long as `patience`. What cannot be completed ends in its
/// middle, without the last chunk: a client sees that it is not complete, and asks anew.
@Reactor
final class ExportCall: StreamHandler {
    enum Subject {
        case conversation(ConversationID)
        case user(UserID)
    }

    private static let pause = Duration.milliseconds(250)
    /// Bytes written at a time.
    private static let pieceBytes = 16 * 1024
    /// A response to a page holds some 300 KiB, and its lines twice as many. So many exports hold 16 MiB.
    static let limit = 16

    private unowned let ingest: IngestService
    private let account: UserAccount
    private let token: Identity
    private let act: AuditedAct?
    private let trace: TraceContext?
    private let isHead: Bool
    private let subject: Subject
    private let patience: Duration
    private let weight: Int
    private let begun = MonotonicTime.now

    private var stream: RequestStream?
    private var hasBegun = false
    private var isClosed = false
    private var isAsking = false
    /// Whether the export is in the audit log, so that it may begin.
    private var isRecorded = false

    /// Lines that are not written yet.
    private var lines = ByteBuffer()
    private var writtenBytes = 0

    private var progress: Progress?
    /// Of a user: the conversations that come next, and the last one that was listed; nil: there are no more.
    private var conversations = FIFO<ConversationID>()
    private var listed: ConversationID?

    init(
        _ ingest: IngestService, _ account: UserAccount, _ token: Identity, _ act: AuditedAct?, _ trace: TraceContext?,
        isHead: Bool, _ subject: Subject
    ) {
        self.ingest = ingest
        self.account = account
        self.token = token
        self.act = act
        self.trace = trace
        self.isHead = isHead
        self.subject = subject
        patience = ingest.patience
        weight = account.weight(of: subject.call)
        switch subject {
        case .conversation(let conversation): conversations.append(conversation)
        case .user: listed = ConversationID(.zero)
        }
        account.begin(weight: weight, bytes: 0)
        ingest.metrics.exportBegan()
    }

    // MARK: The client

    func opened(_ stream: RequestStream) { self.stream = stream }
    func received(_: UnsafeRawBufferPointer) {}
    func bodyEnded() { advance() }
    func drained() { advance() }

    func closed() {
        isClosed = true
        stream = nil
        account.end(weight: weight, bytes: 0)
        ingest.metrics.exportEnded()
    }

    // MARK: Progress

    private func advance() {
        guard !isClosed, !isAsking else { return }
        writeLines()
        guard let stream, writtenBytes == lines.count, !stream.isCongested else { return }
        lines.removeAll()
        writtenBytes = 0
        guard ingest.authenticator.isValid(token) else {
            return fail(Problem(.unauthenticated, "Authorization: the token is valid no longer"))
        }
        guard isRecorded else { return record() }
        if isHead, hasBegun { return stream.end() }
        if let progress { return ask(progress) }
        if let conversation = conversations.popFirst() { return ask(about: conversation) }
        if let listed, case .user(let user) = subject { return ask(for: user, after: listed) }
        begin()
        stream.end()
    }

    private func record() {
        guard let act else { preconditionFailure("administrators export, and every export is recorded") }
        isAsking = true
        act.record { [self] problem in
            isAsking = false
            guard !isClosed else { return }
            isRecorded = problem == nil
            if let problem { fail(problem) } else { advance() }
        }
    }

    private func writeLines() {
        while let stream, writtenBytes < lines.count, !stream.isCongested {
            begin()
            let end = min(writtenBytes + Self.pieceBytes, lines.count)
            stream.write(UnsafeRawBufferPointer(rebasing: lines.bytes[writtenBytes..<end]))
            ingest.metrics.exported(bytes: end - writtenBytes)
            writtenBytes = end
        }
    }

    private func begin() {
        guard !hasBegun else { return }
        hasBegun = true
        act?.end(status: 200)
        stream?.begin(200, .lines)
        ingest.metrics.responded(200, after: .now - begun)
    }

    /// Ends the call. A response that has begun stays incomplete.
    private func fail(_ problem: Problem) {
        guard let stream else { return }
        guard !hasBegun else {
            ingest.metrics.exportFailed()
            return stream.abandon()
        }
        hasBegun = true
        let status = Int(problem.code.status)
        act?.end(status: status)
        let challenge = problem.code == .unauthenticated ? [Authenticator.tokenIsInvalid] : []
        stream.begin(status, .problem, headers: challenge + Refusal.retryHeaders(of: problem))
        ingest.metrics.responded(status, after: .now - begun)
        var body = ByteBuffer()
        problem.writeJSON(to: &body)
        stream.write(body.bytes)
        stream.end()
    }

    // MARK: The stores

    private func ask(for user: UserID, after conversation: ConversationID) {
        let query = ExportedConversations(of: user, after: conversation)
        ask(.exportedConversations, in: user.slot, { query.write(to: &$0) }) { [self] reader throws(WireError) in
            listed = nil
            while reader.remaining > 0 {
                let conversation = try reader.conversation()
                conversations.append(conversation)
                listed = conversation
            }
            begin()
        }
    }

    private func ask(about conversation: ConversationID) {
        let query = ExportHeadQuery(conversation, reader: subject.reader)
        ask(.exportHead, in: conversation.slot, { query.write(to: &$0) }) { [self] reader throws(WireError) in
            let head = try ExportHead(from: &reader)
            guard subject.reader == nil || !head.stays.isEmpty else { return }
            var next = Progress(conversation, head, reader: subject.reader)
            next.story.begin(&lines)
            progress = next
        }
    }

    private func ask(_ current: Progress) {
        var current = current
        guard let query = current.nextQuery() else { return askForReceipts(current) }
        ask(.exportPage, in: current.conversation.slot, { query.write(to: &$0) }) { [self] reader throws(WireError) in
            guard try current.take(try ExportPage(from: &reader), of: query, &lines) else {
                return fail(Problem(.conflict, "what the user may see has changed meanwhile"))
            }
            progress = current
        }
    }

    private func askForReceipts(_ current: Progress) {
        var current = current
        let query = current.receiptsQuery
        ask(.exportReceipts, in: current.conversation.slot, { query.write(to: &$0) }) {
            [self] reader throws(WireError) in
            let goesOn = reader.remaining > 0
            try current.takeReceipts(from: &reader, &lines)
            progress = goesOn ? current : nil
            guard !goesOn else { return }
            current.story.end(&lines)
            ingest.metrics.exported(records: current.story.recordCount)
        }
    }

    /// Sends a request until there is a response or patience ends, and goes on after `completion`.
    private func ask(
        _ kind: StoreRequestKind, in slot: Slot, since start: MonotonicTime = .now,
        _ fields: @escaping (inout ByteBuffer) -> Void,
        _ completion: @escaping @Reactor (inout ByteReader) throws(WireError) -> Void
    ) {
        isAsking = true
        ingest.bus.request(kind, in: slot, deadline: ingest.deadline, trace: trace, fields: fields) {
            [self] outcome in
            guard !isClosed else { return }
            let isLate = .now - start >= patience
            switch outcome.result {
            case .success(let response) where response.status != 503 || isLate:
                isAsking = false
                received(response, completion)
            case .failure(let problem) where isLate:
                isAsking = false
                fail(problem)
            default:
                Reactor.after(Self.pause) { [self] in
                    if !isClosed { ask(kind, in: slot, since: start, fields, completion) }
                }
            }
        }
    }

    private func received(_ response: BusResponse, _ completion: (inout ByteReader) throws(WireError) -> Void) {
        var reader = ByteReader(response.payload.bytes)
        do throws(WireError) {
            guard response.status < 400 else { return refused(try Problem(from: &reader)) }
            try completion(&reader)
            advance()
        } catch {
            fail(.unreadableResponse)
        }
    }

    /// Of a user's conversations one may have gone since it was listed, or be imported at the moment.
    private func refused(_ problem: Problem) {
        guard case .user = subject, progress == nil, problem.code == .notFound || problem.code == .conflict else {
            return fail(problem)
        }
        advance()
    }
}

extension ExportCall {
    /// How far the export of one conversation is: which ranges of positions are still to be asked for, and its story.
    fileprivate struct Progress {
        private typealias Part = ExportPageQuery.Part

        private struct Range {
            let part: Part
            var after: Int64
            let through: Int64
        }

        let conversation: ConversationID
        private let head: ExportHead
        private let reader: UserID?
        private var ranges: [Range] = []
        /// The position whose state is exported.
        private var state: Int64
        /// Behind the last receipt that was told.
        private var lastReceipt: ExportReceiptsQuery.Place?
        var story: ExportStory

        init(_ conversation: ConversationID, _ head: ExportHead, reader: UserID?) {
            self.conversation = conversation
            self.head = head
            self.reader = reader
            state = head.lastSeq
            story = ExportStory(conversation, head, reader: reader)
            ranges = reader == nil ? [Range(part: .everything, after: 1, through: .max)] : Self.ranges(of: head.stays)
            ranges.reverse()
        }

        /// Of a gap first what went on, and when the reader is back the tapbacks and votes that they find.
        private static func ranges(of stays: [ClosedRange<Int64>]) -> [Range] {
            var ranges: [Range] = []
            var end: Int64 = 1
            for stay in stays {
                let first = stay.lowerBound
                if first > 1 {
                    ranges.append(Range(part: .changes, after: end, through: first - 1))
                    ranges.append(Range(part: .everything, after: first - 1, through: first))
                    if end > 1 { ranges.append(Range(part: .tapbacks, after: end, through: first - 1)) }
                }
                ranges.append(Range(part: .everything, after: first, through: stay.upperBound))
                end = stay.upperBound
            }
            return ranges
        }

        /// Returns nil when everything is exported.
        mutating func nextQuery() -> ExportPageQuery? {
            while let range = ranges.last {
                if range.after < min(range.through, state) {
                    return ExportPageQuery(
                        conversation, reader: reader, range.part, after: range.after,
                        through: min(range.through, state), state: state)
                }
                ranges.removeLast()
            }
            return nil
        }

        var receiptsQuery: ExportReceiptsQuery {
            ExportReceiptsQuery(conversation, reader: reader, state: state, after: lastReceipt)
        }

        mutating func takeReceipts(from reader: inout ByteReader, _ lines: inout ByteBuffer) throws(WireError) {
            while reader.remaining > 0 {
                let receipt = try ExportedReceipt(from: &reader)
                var place = lastReceipt ?? ExportReceiptsQuery.Place(user: receipt.user)
                place.move(past: receipt)
                lastReceipt = place
                guard let message = receipt.message else { continue }
                let record = ImportReceipt(receipt.run.kind, by: receipt.user, through: message, at: receipt.at)
                story.take(record, &lines)
            }
        }

        /// Returns whether the reader still may see the same.
        mutating func take(
            _ page: ExportPage, of query: ExportPageQuery, _ lines: inout ByteBuffer
        ) throws(WireError) -> Bool {
            if reader != nil {
                guard page.stayCount == head.stays.count, page.viewEnd == head.stays.last?.upperBound else {
                    return false
                }
            }
            guard page.covered >= query.after, page.state >= state else { throw .unknownValue(field: "page", 0) }
            try page.forEachRecord { _, record in
                if query.part == .changes { story.pass(record) } else { story.take(record, &lines) }
            }
            state = page.state
            ranges[ranges.count - 1].after = page.covered
            return true
        }
    }
}

extension ExportCall.Subject {
    var call: Call {
        switch self {
        case .conversation: .exportConversation
        case .user: .exportUser
        }
    }

    fileprivate var reader: UserID? {
        switch self {
        case .conversation: nil
        case .user(let user): user
        }
    }
}

extension IngestService {
    /// Serves an export: a response of any length, in pieces.
    func admitExport(_ request: Request, _ route: Route) -> RequestAdmission {
        do throws(Problem) {
            let account = try account(for: request, route.call, bodyBytes: 0)
            let token = try authenticator.token(of: request)
            guard metrics.exports < ExportCall.limit else { throw .processOverloaded }
            let subject: ExportCall.Subject =
                route.call == .exportUser ? .user(try route.user()) : .conversation(try route.conversation())
            let trace = request[.traceParent].flatMap { TraceContext(traceparent: $0) }
            let act = try act(of: request, route, patience: patience)
            return .streamed(ExportCall(self, account, token, act, trace, isHead: request.isHead, subject))
        } catch {
            return refused(Refusal(error, headers: challenges(error, request)))
        }
    }
}
