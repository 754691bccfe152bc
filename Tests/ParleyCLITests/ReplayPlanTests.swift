import Archives
import JSON
import Models
import Testing

@testable import ParleyCLI

@Suite struct ReplayPlanTests {
    private let line = """
        {"conversation":"c1","messages":[{"n":7,"time":"12:18","sender":"ann","text":"one"},\
        {"n":9,"sender":"bob","text":"two","replyTo":7},{"n":12,"sender":"ann","text":"three"}]}
        """

    private func source(_ line: String) throws -> IRCConversation {
        try Array(line.utf8).withUnsafeBytes { try IRCConversation(line: $0) }
    }

    @Test("a line of the file becomes a conversation whose replies know their parents by position")
    func reading() throws {
        let source = try source(line)
        #expect(source.name == "c1")
        #expect(source.messages.map(\.sender) == ["ann", "bob", "ann"])
        #expect(source.messages.map(\.parent) == [nil, 0, nil])
    }

    @Test("a reply to a message that does not come before it is refused by its field")
    func badParent() {
        let error = #expect(throws: JSONError.self) {
            try source(#"{"conversation":"c","messages":[{"n":1,"sender":"a","text":"b","replyTo":1}]}"#)
        }
        #expect(error?.field == "messages[0].replyTo")
    }

    @Test("every sender is a member, the first one the creator, and the first few listen")
    func members() throws {
        let plan = try ReplayPlan(
            [try source(line), IRCConversation(name: "empty", messages: [])], run: "r", listeners: 1)
        #expect(plan.conversations.count == 1)
        #expect(plan.users.map(\.name) == ["irc:ann", "irc:bob"])
        #expect(plan.conversations[0].members == [0, 1])
        #expect(plan.conversations[0].listeners == [0])
        #expect(plan.messageCount == 3)
        #expect(plan.replyCount == 1)
    }

    @Test("the same run has the same ids, another run has others, and all are UUIDs of version 7")
    func identifiers() throws {
        let sources = [try source(line), IRCConversation(name: "c2", messages: try source(line).messages)]
        func ids(_ run: String) throws -> [UUIDBytes] {
            let plan = try ReplayPlan(sources, run: run, listeners: 0)
            return plan.conversations.flatMap { [$0.id.uuid] + $0.messages.map(\.id.uuid) }
        }
        let first = try ids("one")
        #expect(try ids("one") == first)
        #expect(Set(first + (try ids("two"))).count == 16)
        for uuid in first {
            #expect(uuid.version == 7)
            #expect(uuid.isStandardVariant)
        }
    }
}
