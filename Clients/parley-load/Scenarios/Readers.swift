import CommandSupport
import JSON
import Models
import ParleyClient
import Reactor
import ReactorTransport

/// Lets the second member of every direct conversation read and report the position to the server.
///
/// Each has one receipt in flight. The next is sent when a status frame confirms that the previous one is stored. The
/// backlog is read message by message, live messages up to the newest.
@Reactor
final class Readers {
    private struct Reader {
        let session: LoadSession
        let conversation: LoadConversation
        let user: String
        /// The last position of the backlog.
        let backlogEnd: Int64
        var told: Int64
        var confirmed: Int64
        var toldAt = MonotonicTime.now

        var isWaiting: Bool { confirmed < told }
    }

    private let world: LoadWorld
    private var readers: [Reader] = []
    /// Indexes into `readers` by user number.
    private var places: [Int: Int] = [:]

    /// A receipt may be lost with its fanout. After this time it is sent again, as the next one of a client would be.
    private static let patience = Duration.seconds(2)

    init(_ world: LoadWorld, backlog: Int) {
        self.world = world
        for session in world.sessions {
            guard let conversation = session.streams.first?.conversation, conversation.members[1] == session.user else {
                continue
            }
            places[session.user] = readers.count
            let unread = conversation.lastSeq - Int64(backlog)
            readers.append(
                Reader(
                    session: session, conversation: conversation, user: world.identity(session.user).user.name,
                    backlogEnd: conversation.lastSeq, told: unread, confirmed: unread))
        }
    }

    func start() {
        world.onArrival = { [self] _, _, session, _ in
            if let place = places[session.user] { tellNext(place) }
        }
        world.onStatus = { [self] status, _, session, now in
            if let place = places[session.user] { take(status, place, at: now) }
        }
        for place in readers.indices { tellNext(place) }
    }

    private func take(_ status: StatusView, _ place: Int, at now: MonotonicTime) {
        guard readers[place].isWaiting, let read = status.read[readers[place].user], read >= readers[place].told else {
            return
        }
        readers[place].confirmed = read
        world.meter.confirmed(signalledAt: readers[place].toldAt, at: now)
        tellNext(place)
    }

    private func tellNext(_ place: Int) {
        let reader = readers[place]
        let newest = reader.session.streams[0].check.next - 1
        guard !reader.isWaiting, reader.told < newest else { return }
        tell(place, upTo: reader.told < reader.backlogEnd ? reader.told + 1 : newest)
    }

    private func tell(_ place: Int, upTo seq: Int64) {
        readers[place].told = seq
        readers[place].toldAt = .now
        world.meter.signalled()
        readers[place].session.send { frame in
            frame.beginObject()
            frame.append(key: "type", json: "read" as StaticString)
            frame.append(key: "conversationId", json: readers[place].conversation.id)
            frame.append(key: "seq", json: seq)
            frame.endObject()
        }
    }

    // MARK: End

    /// Lets every reader read to the end.
    func finish() async {
        let start = MonotonicTime.now
        for place in readers.indices { tell(place, upTo: readers[place].conversation.lastSeq) }
        while readers.contains(where: \.isWaiting), MonotonicTime.now - start < world.settings.settle {
            await Reactor.sleep(for: .milliseconds(20))
            for place in readers.indices
            where readers[place].isWaiting && MonotonicTime.now - readers[place].toldAt > Self.patience {
                tell(place, upTo: readers[place].told)
            }
        }
        let waiting = readers.count(where: \.isWaiting)
        if waiting > 0 { world.complain("\(waiting) receipts were never told as stored") }
    }

    /// Compares the read positions that the members of each conversation see.
    func compare() async throws(APIError) {
        world.stage("comparing the receipts of \(grouped(readers.count)) members")
        try await BulkRequests.run(readers.count, over: world.http) { [self] place in
            HTTPRequest(
                path: "/v1/conversations/\(readers[place].conversation.id)/members",
                token: world.identity(readers[place].session.user).token)
        } handle: { [self] place, response in
            let reader = readers[place]
            let page = try MembersPage(document: Array(response.body))
            let member = page.members.first { $0.user?.name == reader.user }
            if member?.readSeq != reader.conversation.lastSeq {
                world.complain(
                    "\(reader.user) read \(reader.conversation.id) up to \(reader.conversation.lastSeq), "
                        + "the server says \(member?.readSeq ?? 0)")
            }
        }
    }
}
