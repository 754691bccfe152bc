import Bytes
import Models
import Reactor
import ServiceKit
import TestSupport
import Testing
import Wire

@testable import Ingest

private func time(_ milliseconds: Int) -> MonotonicTime {
    MonotonicTime(nanoseconds: UInt64(1_000_000 + milliseconds) * 1_000_000)
}

private let anna = UserID("anna")!
private let ben = UserID("ben")!
private let carla = UserID("carla")!

private func limits(
    requests: Int = 2, perRequest: Int = 3, bytesPerRequest: Int = 100, waiting: Int = 10, ofUser: Int = 5
) -> HookQueue.Limits {
    HookQueue.Limits(
        requests: requests, messagesPerRequest: perRequest, bytesPerRequest: bytesPerRequest,
        waiting: HookQueue.Bound(messages: waiting, bytes: 1_000),
        waitingOfUser: HookQueue.Bound(messages: ofUser, bytes: 500), timeout: .seconds(1))
}

/// A queue and its breaker, with the times of a test.
private final class Line {
    var queue: HookQueue
    var breaker = HookBreaker()

    init(_ limits: HookQueue.Limits = limits()) { queue = HookQueue(limits) }

    @discardableResult
    func enter(_ number: UInt64, _ user: UserID, messages: Int = 1, bytes: Int = 10, at milliseconds: Int = 0)
        -> HookQueue.Admission
    {
        queue.enter(number, of: user, messages: messages, bytes: bytes, at: time(milliseconds))
    }

    func next(at milliseconds: Int = 0) -> HookQueue.Turn? { queue.next(&breaker, at: time(milliseconds)) }

    func answered() { queue.answered() }

    func ended(_ user: UserID, at milliseconds: Int = 0) { queue.ended(user, at: time(milliseconds)) }
}

@Suite struct HookQueueTests {
    @Test("a user has one turn at a time; what they send meanwhile is asked about together, in its order")
    func oneTurn() {
        let line = Line()
        line.enter(1, anna)
        #expect(line.next() == HookQueue.Turn(user: anna, entries: [1], fate: .ask(until: time(1_000))))
        line.enter(2, anna)
        line.enter(3, anna)
        #expect(line.next() == nil)
        line.answered()
        #expect(line.next() == nil, "what was answered is not stored yet")
        line.ended(anna, at: 300)
        #expect(line.next(at: 300) == HookQueue.Turn(user: anna, entries: [2, 3], fate: .ask(until: time(1_300))))
        line.answered()
        line.ended(anna)
        #expect(line.next() == nil)
    }

    @Test("others are asked about while one user's question has no answer, in the order in which they came")
    func others() {
        let line = Line(limits(requests: 3))
        line.enter(1, anna)
        _ = line.next()
        line.enter(2, anna)
        line.enter(3, carla)
        line.enter(4, ben)
        #expect(line.next()?.user == carla)
        #expect(line.next()?.user == ben)
        #expect(line.next() == nil)
    }

    @Test("a question has a bounded number of messages and bytes, but no request of a client is taken apart")
    func sizes() {
        let line = Line()
        line.enter(1, anna, messages: 2)
        line.enter(2, anna, messages: 2)
        #expect(line.next()?.entries == [1])
        line.answered()
        line.ended(anna)
        #expect(line.next()?.entries == [2])
        line.enter(3, ben, messages: 9)
        #expect(line.next()?.entries == [3])
        line.answered()
        line.answered()
        line.ended(ben)
        line.enter(4, ben, bytes: 60)
        line.enter(5, ben, bytes: 60)
        #expect(line.next()?.entries == [4])
    }

    @Test("what waits is bounded for each user and in all; whoever has nothing waiting may send anything")
    func bounds() {
        let line = Line()
        line.enter(1, anna)
        _ = line.next()
        for number in 2...6 as ClosedRange<UInt64> { #expect(line.enter(number, anna) == .waits) }
        #expect(line.enter(7, anna) == .fullOfUser)
        #expect(line.enter(8, ben, messages: 4) == .waits)
        #expect(line.enter(9, carla, messages: 2) == .full)
        #expect(line.enter(10, carla) == .waits)
        #expect(line.queue.waiting.messages == 10)
        let bytes = Line()
        #expect(bytes.enter(1, anna, bytes: 5_000) == .waits)
        #expect(bytes.enter(2, anna) == .fullOfUser)
        #expect(bytes.enter(3, ben) == .full)
    }

    @Test("without a place in time a user's messages fail, and each turn goes on from its own beginning")
    func noPlace() {
        let line = Line(limits(requests: 1))
        line.enter(1, anna)
        line.enter(2, ben, at: 100)
        #expect(line.next()?.user == anna)
        #expect(line.next(at: 1_099) == nil)
        #expect(line.queue.nextEnd == time(1_100))
        #expect(line.next(at: 1_100) == HookQueue.Turn(user: ben, entries: [2], fate: .fail(.noPlace)))
        line.ended(ben)
        line.answered()
        line.enter(3, anna, at: 1_200)
        line.ended(anna, at: 1_900)
        #expect(line.next(at: 1_900)?.fate == .ask(until: time(2_900)), "a user's own messages take none of their time")
    }

    @Test(
        "everything that enters has exactly one turn, a user's in its order and one at a time",
        arguments: UInt64(0)..<300)
    func orders(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let line = Line(limits(requests: Int.random(in: 1...3, using: &random), waiting: 30, ofUser: 12))
        let users = (0..<4).map { UserID("user\($0)")! }
        var entered: [UserID: [UInt64]] = [:], taken: [UserID: [UInt64]] = [:]
        var asking: [UserID] = [], storing: [UserID] = []
        var now = 0, number: UInt64 = 0
        func take() {
            while let turn = line.next(at: now) {
                #expect(!asking.contains(turn.user) && !storing.contains(turn.user))
                taken[turn.user, default: []] += turn.entries
                if case .ask = turn.fate { asking.append(turn.user) } else { storing.append(turn.user) }
                #expect(asking.count <= line.queue.limits.requests)
            }
        }
        for _ in 0..<300 {
            now += Int.random(in: 0...200, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                let user = users.randomElement(using: &random)!
                number += 1
                let size = Int.random(in: 1...4, using: &random)
                if line.enter(number, user, messages: size, at: now) == .waits {
                    entered[user, default: []].append(number)
                }
            case 2 where !asking.isEmpty:
                storing.append(asking.remove(at: Int.random(in: 0..<asking.count, using: &random)))
                line.answered()
                if Bool.random(using: &random) {
                    line.breaker.succeeded()
                } else {
                    line.breaker.failed(at: time(now))
                }
            case 3 where !storing.isEmpty:
                line.ended(storing.remove(at: Int.random(in: 0..<storing.count, using: &random)), at: now)
            default: break
            }
            if Bool.random(using: &random) { take() }
        }
        repeat {
            take()
            while let user = asking.popLast() {
                line.answered()
                line.breaker.succeeded()
                storing.append(user)
            }
            while let user = storing.popLast() { line.ended(user, at: now) }
        } while line.queue.waiting.messages > 0
        #expect(taken == entered)
        #expect(line.queue.asking == 0 && line.queue.waiting == .none)
    }
}

@Suite struct HookBreakerTests {
    @Test("it opens after failures in a row over a second without an answer, and lets one question through every five")
    func opens() {
        var breaker = HookBreaker()
        for failure in 0..<4 { breaker.failed(at: time(failure)) }
        #expect(!breaker.isOpen)
        breaker.failed(at: time(900))
        #expect(!breaker.isOpen, "too soon")
        breaker.failed(at: time(1_000))
        #expect(breaker.isOpen)
        #expect(!breaker.isClosed(at: time(5_999)))
        let isAdmitted = breaker.admits(at: time(6_000))
        #expect(isAdmitted && !breaker.isClosed(at: time(6_500)))
        breaker.failed(at: time(7_000))
        #expect(!breaker.isClosed(at: time(11_999)) && breaker.isClosed(at: time(12_000)))
        let isAdmittedAgain = breaker.admits(at: time(12_000))
        #expect(isAdmittedAgain)
        breaker.succeeded()
        #expect(!breaker.isOpen && breaker.isClosed(at: time(12_001)))
    }

    @Test("users whose messages the application fails on do not open it while others' are answered")
    func failsOnFew() {
        var breaker = HookBreaker()
        for step in 0..<1_000 {
            breaker.failed(at: time(step * 10))
            if step.isMultiple(of: 50) { breaker.succeeded() }
            #expect(!breaker.isOpen)
        }
    }

    @Test("open, it fails those who are ready at once")
    func failsAtOnce() {
        let line = Line()
        for failure in 0...5 { line.breaker.failed(at: time(failure * 300)) }
        line.enter(1, anna, at: 2_000)
        #expect(line.next(at: 2_000)?.fate == .fail(.away))
        line.enter(2, ben, at: 6_600)
        line.enter(3, carla, at: 6_600)
        #expect(line.next(at: 6_600)?.fate == .ask(until: time(7_600)))
        #expect(line.next(at: 6_600)?.fate == .fail(.away))
    }
}

@Suite struct HookAnswerTests {
    private func answer(_ body: String, status: Int = 200, count: Int = 2) throws -> [Int: String] {
        let actions = try HookAnswer(status: status, Array(body.utf8), count: count, [.allow, .refuse]).actions
        var refusals: [Int: String] = [:]
        for (position, action) in actions.enumerated() {
            if case .refuse(let detail) = action { refusals[position] = detail }
        }
        return refusals
    }

    @Test("one action is for all messages, results are for one each, 204 allows")
    func verdicts() throws {
        #expect(try answer("", status: 204) == [:])
        #expect(try answer(#"{"action":"allow"}"#) == [:])
        #expect(try answer(#"{"action":"refuse","detail":"No."}"#) == [0: "No.", 1: "No."])
        #expect(
            try answer(#"{"results":[{"action":"allow","more":[1]},{"action":"refuse"}],"version":2}"#)
                == [1: ""])
    }

    @Test("a detail is one line of plain text of bounded length")
    func details() throws {
        #expect(
            try answer(#"{"action":"refuse","detail":" a\n\u001b[31mb\u202e  c "}"#, count: 1)[0] == "a [31mb c")
        let long = try answer(
            "{\"action\":\"refuse\",\"detail\":\"\(String(repeating: "ü", count: 5_000))\"}", count: 1)
        #expect(long[0]?.unicodeScalars.count == HookAnswer.detailCharacters)
    }

    @Test(
        "anything else is a failure",
        arguments: [
            "", "x", "[]", "{}", "null", #"{"action":"allowed"}"#, #"{"action":"allow"}x"#, #"{"action":true}"#,
            #"{"results":[]}"#, #"{"results":[{"action":"allow"}]}"#, #"{"results":[{},{}]}"#,
            #"{"results":[{"action":"allow"},{"action":"allow"},{"action":"allow"}]}"#,
            #"{"action":"allow","results":[{"action":"refuse"},{"action":"refuse"}]}"#,
            #"{"action":"allow","action":"refuse"}"#, #"{"action":"refuse","detail":7}"#,
        ])
    func garbage(body: String) {
        #expect(throws: HookFailure.answer) {
            try HookAnswer(status: 200, Array(body.utf8), count: 2, [.allow, .refuse])
        }
    }

    @Test("any other status is a failure", arguments: [100, 201, 202, 301, 302, 307, 400, 401, 403, 404, 500, 503])
    func statuses(status: Int) {
        #expect(throws: HookFailure.status) {
            try HookAnswer(status: status, Array(#"{"action":"allow"}"#.utf8), count: 1, [.allow])
        }
    }
}

@Suite struct HookSignatureTests {
    /// The example of Svix, who wrote Standard Webhooks.
    @Test("the signature is that of Standard Webhooks, by each secret")
    func signature() throws {
        let secret = try #require(HookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let headers = HookSignature.headers(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", seconds: 1_614_265_330, body: Array(#"{"test": 2432232314}"#.utf8),
            [secret, secret])
        let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        #expect(
            headers == [
                "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp: 1614265330",
                "webhook-signature: \(signature) \(signature)",
            ])
        #expect("\(secret)" == "a secret")
    }
}

@Suite struct HookConfigurationTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    private func configuration(_ variables: [String: String]) throws -> HookConfiguration? {
        var environment = Environment(
            Dictionary(uniqueKeysWithValues: variables.map { ("PARLEY_MESSAGE_HOOK\($0)", $1) }))
        return try HookConfiguration.ofMessages(&environment)
    }

    @Test("without an address nobody is asked; with one, all that it needs is decoded")
    func decoded() throws {
        #expect(try configuration([:]) == nil)
        let hook = try #require(
            try configuration([
                "": "https://app.example:8443/hook?a=b", "_SECRET": "\(Self.secret) \(Self.secret)", "_FAILS": "open",
                "_TIMEOUT": "300ms",
            ]))
        #expect(hook.url == "https://app.example:8443/hook?a=b" && hook.failsOpen && hook.timeout == .milliseconds(300))
        #expect(hook.secrets.count == 2)
    }

    @Test(
        "what is missing or malformed stops the start with its name",
        arguments: [
            (["_SECRET": secret], ""), (["_FAILS": "open"], ""),
            (["": "https://a"], "_SECRET"), (["": "https://a", "_SECRET": "short"], "_SECRET"),
            (["": "https://a", "_SECRET": "whsec_c2hvcnQ=", "_FAILS": "open"], "_SECRET"),
            (["": "https://a", "_SECRET": "\(secret) \(secret) \(secret)", "_FAILS": "open"], "_SECRET"),
            (["": "https://a", "_SECRET": secret], "_FAILS"),
            (["": "https://a", "_SECRET": secret, "_FAILS": "maybe"], "_FAILS"),
            (["": "https://a", "_SECRET": secret, "_FAILS": "open", "_TIMEOUT": "2s"], "_TIMEOUT"),
            (["": "https://a", "_SECRET": secret, "_FAILS": "open", "_TIMEOUT": "1ms"], "_TIMEOUT"),
            (["": "https://a", "_SECRET": secret, "_FAILS": "open", "_CA_FILE": "/nowhere"], "_CA_FILE"),
        ])
    func refused(variables: [String: String], name: String) {
        let error = #expect(throws: ConfigurationError.self) { try configuration(variables) }
        #expect(error?.variable == "PARLEY_MESSAGE_HOOK\(name)")
        #expect(error?.reason.contains(Self.secret) == false)
    }

    @Test(
        "addresses",
        arguments: [
            ("https://app.example/hook", true), ("http://127.0.0.1:80", true), ("http://[::1]:8080/a?b=c", true),
            ("https://app.example:0/", false), ("https://app.example:x/", false), ("https:///hook", false),
            ("ftp://app.example/", false), ("file:///etc/passwd", false), ("app.example", false), ("HTTPS://a", false),
            ("https://user:word@app.example/", false), ("https://app.example/#a", false), ("https://a b/", false),
            ("https://app.example/\n", false), ("https://[::1", false), ("https://:80/", false),
        ])
    func addresses(url: String, isOne: Bool) { #expect(HookConfiguration.isAddress(url) == isOne) }
}

@Suite struct HookQuestionTests {
    private static let conversation = ConversationID(UUIDBytes("0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90")!)

    private static func message(_ number: Int) -> MessageID {
        MessageID(UUIDBytes("0198c2a4-5d10-7c3e-9a41-0000000000\(10 + number)")!)
    }

    private static func command(_ count: Int) -> [UInt8] {
        var buffer = ByteBuffer()
        SendMessages.writeHead(conversation, anna, count: count, to: &buffer)
        for number in 0..<count {
            Array("text \(number)".utf8).withUnsafeBytes { text in
                Array((number == 1 ? "*,ben,carla" : "").utf8).withUnsafeBytes { mentions in
                    NewMessage(
                        id: message(number), sentAt: Timestamp(milliseconds: 5),
                        replyTo: number == 1 ? message(0) : nil,
                        mentions: mentions, text: text
                    ).write(to: &buffer)
                }
            }
        }
        return buffer.array
    }

    private func json(_ question: MessageQuestion) -> String {
        var buffer = ByteBuffer()
        buffer.beginArray()
        question.write(to: &buffer)
        buffer.endArray()
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    @Test("messages are shown as the contract names their fields")
    func messages() throws {
        let question = try #require(MessageQuestion(.sendMessages, Self.command(2)))
        #expect(question.count == 2 && !question.isWrite)
        let head = #""kind":"message","conversationId":"\#(Self.conversation)""#
        #expect(
            json(question)
                == #"[{\#(head),"id":"\#(Self.message(0))","text":"text 0"},"#
                + #"{\#(head),"id":"\#(Self.message(1))","text":"text 1","replyTo":"\#(Self.message(0))","#
                + #""mentions":["ben","carla"],"mentionsAll":true}]"#)
        #expect(question.query([1]) == WrittenMessages([.init(Self.message(1))], in: Self.conversation, by: anna))
    }

    @Test("of a sealed message it is told what is sealed")
    func sealed() throws {
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        let command = Array("c2VhbA==".utf8).withUnsafeBytes { text in
            var buffer = ByteBuffer()
            SendMessages.writeHead(Self.conversation, anna, count: 2, to: &buffer)
            for isSealed in [true, false] {
                NewMessage(
                    id: Self.message(0), sentAt: Timestamp(milliseconds: 1), replyTo: nil, mentions: none, text: text,
                    isSealed: isSealed
                ).write(to: &buffer, .sealed)
            }
            return buffer.array
        }
        let question = try #require(MessageQuestion(.sendSealed, command))
        let head = #"{"kind":"message","conversationId":"\#(Self.conversation)","id":"\#(Self.message(0))""#
        #expect(json(question) == #"[\#(head),"sealed":"c2VhbA=="},\#(head),"text":"c2VhbA=="}]"#)
        #expect(question.command(with: [0, 1]) == command)
    }

    @Test("of a poll it is told the options, too")
    func poll() throws {
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        let command = Array("When?".utf8).withUnsafeBytes { text in
            var buffer = ByteBuffer()
            SendMessages.writeHead(Self.conversation, anna, count: 1, to: &buffer)
            NewPoll(options: ["a", "b"], isMultiple: false).withEncoded { poll in
                NewMessage(
                    id: Self.message(0), sentAt: Timestamp(milliseconds: 1), replyTo: nil, mentions: none, text: text,
                    poll: poll
                ).write(to: &buffer, .poll)
            }
            return buffer.array
        }
        let question = try #require(MessageQuestion(.sendPoll, command))
        let head = #"{"kind":"message","conversationId":"\#(Self.conversation)","id":"\#(Self.message(0))""#
        #expect(json(question) == #"[\#(head),"text":"When?","options":["a","b"]}]"#)
        #expect(question.command(with: [0]) == command)
    }

    @Test("of a forwarded message it is told the text that is stored, and nothing of what is none")
    func forwarded() {
        func question(_ text: String, _ problem: Forward.Problem?) -> MessageQuestion? {
            var forward = Forward(
                of: MessageQuery(ConversationQuery(Self.conversation, reader: anna), message: Self.message(1)),
                showsOrigin: true)
            forward.problem = problem
            let none = UnsafeRawBufferPointer(start: nil, count: 0)
            return Array(text.utf8).withUnsafeBytes { text in
                var buffer = ByteBuffer()
                SendMessages.writeHead(Self.conversation, anna, count: 1, to: &buffer)
                forward.withEncoded { forward in
                    NewMessage(
                        id: Self.message(0), sentAt: Timestamp(milliseconds: 1), replyTo: nil, mentions: none,
                        text: text, forward: forward
                    ).write(to: &buffer, .forwarded)
                }
                return MessageQuestion(.sendForwarded, buffer.array)
            }
        }
        let head = #"{"kind":"message","conversationId":"\#(Self.conversation)","id":"\#(Self.message(0))""#
        #expect(question("Nine?", nil).map(json) == #"[\#(head),"text":"Nine?"}]"#)
        #expect(question("", .notFound) == nil)
    }

    @Test("a command is what is left of it without what was refused")
    func rest() throws {
        let question = try #require(MessageQuestion(.sendMessages, Self.command(3)))
        #expect(question.command(with: [0, 1, 2]) == Self.command(3))
        #expect(question.command(with: [0, 1]) == Self.command(2))
        let first = question.command(with: [0])
        #expect(first == Self.command(1))
    }

    @Test("of writes only edits and scheduled messages bring a text")
    func writes() throws {
        func question(_ action: Write.Action) -> MessageQuestion? {
            var buffer = ByteBuffer()
            Write(Self.conversation, by: anna, key: nil, action).write(to: &buffer)
            return MessageQuestion(.write, buffer.array)
        }
        let edit = try #require(question(.edit(Self.message(0), text: "new \"text\"")))
        #expect(
            json(edit)
                == #"[{"kind":"edit","conversationId":"\#(Self.conversation)","id":"\#(Self.message(0))","#
                + #""text":"new \"text\""}]"#)
        #expect(
            edit.query([0])
                == WrittenMessages([.init(Self.message(0), text: "new \"text\"")], in: Self.conversation, by: anna))
        let sealed = try #require(question(.editSealed(Self.message(0), "c2VhbA==")))
        #expect(json(sealed).hasSuffix(#","sealed":"c2VhbA=="}]"#))
        let new = NewScheduled(
            Self.message(0), at: Timestamp(milliseconds: 7), replyTo: Self.message(1), mentions: "*,ben",
            extra: #"{"n":1.0}"#, text: "later")
        let scheduled = try #require(question(.schedule(new)))
        #expect(
            json(scheduled)
                == #"[{"kind":"scheduled","conversationId":"\#(Self.conversation)","id":"\#(Self.message(0))","#
                + #""text":"later","replyTo":"\#(Self.message(1))","mentions":["ben"],"mentionsAll":true,"extra":{"n":1.0}}]"#
        )
        #expect(question(.unlist) == nil)
        #expect(MessageQuestion(.createConversation, []) == nil)
    }
}

@Suite struct ConsentQuestionTests {
    private static let conversation = ConversationID(UUIDBytes("0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90")!)

    private func question(_ kind: StoreRequestKind, _ command: some WireCodable) -> ConsentQuestion? {
        var buffer = ByteBuffer()
        command.write(to: &buffer)
        return ConsentQuestion(kind, buffer.array)
    }

    private func json(_ question: ConsentQuestion) -> String {
        var buffer = ByteBuffer()
        question.write(to: &buffer)
        return String(decoding: buffer.array, as: UTF8.self)
    }

    private func bytes(_ command: some WireCodable) -> [UInt8] {
        var buffer = ByteBuffer()
        command.write(to: &buffer)
        return buffer.array
    }

    @Test("of a new conversation it names each member, and what is said of each goes along with the command")
    func creation() throws {
        var command = CreateConversation(
            conversation: Self.conversation, kind: .group, creator: anna, title: "Plans", members: [ben, carla],
            Introduction(peoplePerDay: 3))
        let question = try #require(self.question(.createConversation, command))
        let about = #"{"kind":"group","conversationId":"\#(Self.conversation)","title":"Plans","userId":"#
        #expect(question.count == 2 && json(question) == about + #""ben"},"# + about + #""carla"}"#)
        command.introduction.consents = [.declined, .given]
        #expect(question.command(with: [.declined, .given]) == bytes(command))
    }

    @Test("of writes only those that add a member bring somebody in")
    func addition() throws {
        func write(_ action: Write.Action) -> Write { Write(Self.conversation, by: anna, key: nil, action) }
        let question = try #require(
            self.question(.write, write(.putMember(ben, .admin, Introduction(peoplePerDay: 3)))))
        #expect(
            json(question) == #"{"kind":"group","conversationId":"\#(Self.conversation)","userId":"ben"}"#)
        #expect(
            question.command(with: [.asked])
                == bytes(write(.putMember(ben, .admin, Introduction([.asked], peoplePerDay: 3)))))
        #expect(self.question(.write, write(.removeMember(ben))) == nil)
    }

    @Test("of each may be said that they come in, are asked, hear nothing, or are refused; of messages less")
    func answers() throws {
        let body = Array(
            #"{"results":[{"action":"allow"},{"action":"ask"},{"action":"decline"},{"action":"refuse"}]}"#.utf8)
        let answer = try HookAnswer(status: 200, body, count: 4, ConsentQuestion.actions)
        #expect(answer.actions == [.allow, .ask, .decline, .refuse("")])
        #expect(throws: HookFailure.answer) { try HookAnswer(status: 200, body, count: 4, MessageQuestion.actions) }
    }

    @Test("a hook for members needs the option that asks strangers, and says nothing of failing")
    func configuration() throws {
        func configuration(_ requests: MessageRequests, _ more: [String: String] = [:]) throws -> HookConfiguration? {
            var environment = Environment(
                [
                    "PARLEY_CONSENT_HOOK": "https://app.example/", "PARLEY_CONSENT_HOOK_TIMEOUT": "200ms",
                    "PARLEY_CONSENT_HOOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                ].merging(more) { $1 })
            return try .ofMembers(&environment, requests)
        }
        let hook = try #require(try configuration(.strangers))
        #expect(!hook.failsOpen && hook.timeout == .milliseconds(200))
        let refused = #expect(throws: ConfigurationError.self) { try configuration(.off) }
        #expect(refused?.variable == "PARLEY_MESSAGE_REQUESTS")
        let alone = #expect(throws: ConfigurationError.self) { try configuration(.off, ["PARLEY_CONSENT_HOOK": ""]) }
        #expect(alone?.variable == "PARLEY_CONSENT_HOOK")
    }
}

/// An application that answers when a test says so.
@Reactor
private final class TestTransport: HookTransport {
    private(set) var posts: [HookPost] = []
    func post(_ post: HookPost) { posts.append(post) }

    func answer(_ position: Int = 0, _ result: Result<HookResponse, HookFailure>) {
        posts.remove(at: position).done(result)
    }

    func allow(_ position: Int = 0) { answer(position, .success(HookResponse(status: 204, body: []))) }
}

@Suite struct MessageHookTests {
    private static let conversation = ConversationID(UUIDBytes("0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90")!)

    /// A hook, and what became of what was asked.
    @Reactor
    private final class Scene {
        let transport = TestTransport()
        let hook: ApplicationHook<MessageQuestion>
        private(set) var verdicts: [String] = []
        private var turns: [String: HookTurn] = [:]
        private let metrics: HookMetrics

        init(timeout: Duration = .seconds(1)) throws {
            var environment = Environment([
                "PARLEY_MESSAGE_HOOK": "http://127.0.0.1:9",
                "PARLEY_MESSAGE_HOOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                "PARLEY_MESSAGE_HOOK_FAILS": "closed",
            ])
            let configuration = try #require(try HookConfiguration.ofMessages(&environment))
            metrics = HookMetrics(Metrics(), .messages)
            var limits = limits(requests: 2, perRequest: 10, bytesPerRequest: 10_000)
            limits.timeout = timeout
            hook = ApplicationHook(configuration, limits, transport, metrics, Log(service: "ingest", level: .error))
        }

        func ask(_ name: String, of user: UserID) throws {
            var buffer = ByteBuffer()
            let id = MessageID(UUIDBytes("0198c2a4-5d10-7c3e-9a41-000000000010")!)
            Write(MessageHookTests.conversation, by: user, key: nil, .edit(id, text: name)).write(to: &buffer)
            let question = try #require(MessageQuestion(.write, buffer.array))
            try hook.ask(question, of: user) { [self] verdict, turn in
                let text =
                    switch verdict?.first {
                    case .refuse(let detail): "refused: \(detail)"
                    case let action?: "\(action)ed"
                    case nil: "failed"
                    }
                verdicts.append("\(name) \(text)")
                turns[name] = turn
            }
        }

        func end(_ name: String) { turns.removeValue(forKey: name)?.end() }

        var asked: [[String]] {
            transport.posts.map { post in
                String(decoding: post.body, as: UTF8.self).split(separator: "\"text\":\"").dropFirst().map {
                    String($0.prefix { $0 != "\"" })
                }
            }
        }
    }

    @Test("what a user sends while a question is out is asked about in the next one; others do not wait")
    func order() async throws {
        ReactorThread.start()
        let scene = try await Scene()
        try await scene.ask("a1", of: anna)
        #expect(await eventually { scene.asked == [["a1"]] })
        try await scene.ask("a2", of: anna)
        try await scene.ask("a3", of: anna)
        try await scene.ask("b1", of: ben)
        #expect(await eventually { scene.asked == [["a1"], ["b1"]] })
        await scene.transport.allow(1)
        #expect(await scene.verdicts == ["b1 allowed"])
        await scene.transport.allow()
        #expect(await scene.verdicts == ["b1 allowed", "a1 allowed"])
        await scene.end("a1")
        #expect(await eventually { scene.asked == [["a2", "a3"]] })
        let answer = #"{"results":[{"action":"refuse","detail":"no"},{"action":"allow"}]}"#
        await scene.transport.answer(0, .success(HookResponse(status: 200, body: Array(answer.utf8))))
        #expect(await scene.verdicts.suffix(2) == ["a2 refused: no", "a3 allowed"])
        try await scene.ask("a4", of: anna)
        await scene.end("a2")
        #expect(await scene.asked.isEmpty, "the turn is over when both are")
        await scene.end("a3")
        #expect(await eventually { scene.asked == [["a4"]] })
    }

    @Test("after its time a question has failed, and a later answer changes nothing")
    func timeout() async throws {
        ReactorThread.start()
        let scene = try await Scene(timeout: .milliseconds(60))
        try await scene.ask("a1", of: anna)
        #expect(await eventually { scene.verdicts == ["a1 failed"] })
        let answer = #"{"action":"refuse"}"#
        await scene.transport.answer(0, .success(HookResponse(status: 200, body: Array(answer.utf8))))
        #expect(await scene.verdicts == ["a1 failed"])
    }

    @Test("a transport that holds on to its questions takes no more of them, and who finds no place fails in time")
    func places() async throws {
        ReactorThread.start()
        let scene = try await Scene(timeout: .milliseconds(60))
        try await scene.ask("a1", of: anna)
        try await scene.ask("b1", of: ben)
        try await scene.ask("c1", of: carla)
        #expect(await eventually { scene.verdicts.count == 3 })
        #expect(await Set(scene.verdicts) == ["a1 failed", "b1 failed", "c1 failed"])
        #expect(await scene.transport.posts.count == 2)
    }
}
