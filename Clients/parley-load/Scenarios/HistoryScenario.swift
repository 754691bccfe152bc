import Bytes
import CommandSupport
import JSON
import Models
import ParleyClient
import Reactor
import ReactorTransport

/// Users who scroll back.
struct HistoryScenario: Scenario {
    static let name = "history"
    static let summary = "pages of history, at random places of some conversations"
    static let options = [
        CommandDescription.Option("conversations", "N", "how many (default 100)"),
        CommandDescription.Option("messages", "N", "in each of them (default 1,000)"),
        CommandDescription.Option("page", "N", "messages on a page (default 50)"),
        CommandDescription.Option("readers", "N", "how many connections read (default 16)"),
        CommandDescription.Option("in-flight", "N", "closed loop: pages in flight on each connection (default 1)"),
        CommandDescription.Option("rate", "N", "open loop: pages a second in all"),
    ]

    private let conversations: Int
    private let messages: Int
    private let page: Int
    private let readers: Int
    private let pace: MessageTraffic.Pace

    init(_ arguments: Arguments) throws(UsageError) {
        conversations = try arguments.integer("conversations", in: 1...100_000) ?? 100
        messages = try arguments.integer("messages", in: 1...1_000_000) ?? 1000
        page = try arguments.integer("page", in: 1...200) ?? 50
        readers = try arguments.integer("readers", in: 1...1000) ?? 16
        guard page <= messages else { throw UsageError("--page must not be more than --messages") }
        if let rate = try arguments.integer("rate", in: 1...1_000_000) {
            pace = .rate(rate)
        } else {
            pace = .inFlight(try arguments.integer("in-flight", in: 1...64) ?? 1)
        }
    }

    var connections: Int { readers }

    @Reactor func run(in world: LoadWorld) async throws(APIError) -> LoadReport {
        world.stage("writing \(grouped(messages)) messages into each of \(grouped(conversations)) conversations")
        let users = world.makeUsers(2 * conversations)
        let pairs = try await world.createPairs((0..<conversations).map { (users[2 * $0], users[2 * $0 + 1]) })
        try await world.sendBacklog(messages, in: pairs)
        await world.awaitRest()
        let pages = HistoryPages(world, pairs, messages: messages, page: page)
        let traffic = RequestTraffic(
            world.settings.connection.http, connections: readers, pace: pace, meter: world.meter,
            write: pages.write, check: pages.check)
        traffic.start()
        await world.measure()
        await traffic.stop()
        world.complain(traffic.failures)
        let readBack = await world.compareHistories()
        var report = world.report(
            of: Self.name, "\(grouped(conversations)) conversations of \(grouped(messages)) messages, pages of \(page)")
        report.addRate("pagesPerSecond", "pages", world.meter.counts.responses)
        report.addRate("messagesPerSecond", "messages", world.meter.counts.responses * page)
        report.add("repeatedRequests", "repeated requests", Double(traffic.repetitions))
        report.add("page", "request to page", world.meter.requests)
        (report.unit, report.units) = ("pages", world.meter.counts.responses)
        report.checked = "every page complete and in order; \(grouped(readBack)) messages read back"
        return report
    }
}

/// Chooses the page for each request number, and what must be on it.
@Reactor
private final class HistoryPages {
    private struct Reader {
        let conversation: LoadConversation
        let token: String
    }

    private let readers: [Reader]
    private let messages: Int
    private let page: Int

    init(_ world: LoadWorld, _ conversations: [LoadConversation], messages: Int, page: Int) {
        readers = conversations.flatMap { conversation in
            conversation.members.map { Reader(conversation: conversation, token: world.identity($0).token) }
        }
        self.messages = messages
        self.page = page
    }

    /// The place for a request number, spread over readers and positions. The same number gives the same place.
    private func place(_ number: Int) -> (reader: Reader, before: Int64) {
        let random = (UInt(bitPattern: number) &* 0x9E37_79B9_7F4A_7C15) >> 16
        let reader = readers[Int(random % UInt(readers.count))]
        // The first message is at 2, after the creation.
        let offset = Int(random / UInt(readers.count) % UInt(messages - page + 1))
        return (reader, Int64(2 + page + offset))
    }

    func write(_ number: Int, _ host: Endpoint, _ buffer: inout ByteBuffer) {
        let (reader, before) = place(number)
        buffer.append("GET /v1/conversations/")
        buffer.append(reader.conversation.id.uuid)
        buffer.append("/messages?limit=")
        buffer.append(decimal: Int64(page))
        buffer.append("&before=")
        buffer.append(decimal: before)
        buffer.append(" HTTP/1.1\r\nHost: ")
        buffer.append(utf8: host.authority)
        buffer.append("\r\nAuthorization: Bearer ")
        buffer.append(utf8: reader.token)
        buffer.append("\r\n\r\n")
    }

    func check(_ number: Int, _ response: Response) -> String? {
        guard response.status == 200 else { return "status \(response.status) \(problemDetail(response.body))" }
        let (_, before) = place(number)
        var expected = before - Int64(page)
        do {
            _ = try AuditPage.history(response.body, nil) { id, seq, _ in
                if id != nil, seq == expected { expected += 1 }
            }
        } catch {
            return "a page that cannot be read: \(error)"
        }
        return expected == before ? nil : "the page before \(before) has a hole or a double at \(expected)"
    }
}
