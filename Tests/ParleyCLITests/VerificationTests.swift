import Models
import Reactor
import TestSupport
import Testing

@testable import CommandSupport
@testable import ParleyClient
@testable import ReactorTransport

@Suite struct VerificationTests {
    init() { ReactorThread.start() }

    @Test(
        "what a server gives to read is compared with the digests that it gives",
        arguments: [
            (.none, []), (.digestsAnotherState, ["the state of positions 1 to 11"]),
            (.digestsOtherChanges, ["the changes of positions 1 to 11"]),
            (.losesMessage, ["the state of positions 1 to 11"]),
        ] as [(UnfaithfulServer.Fault, [String])])
    @Reactor func verification(fault: UnfaithfulServer.Fault, differences: [String]) async throws {
        let server = try UnfaithfulServer(fault)
        defer { server.stop() }
        let api = ParleyAPI(http: HTTPClient([try Endpoint("http://127.0.0.1:\(server.port)", scheme: "http")]))
        let conversation = ConversationID(UUIDBytes.makeTimeOrdered())
        for number in 0..<10 {
            let id = MessageID(UUIDBytes.makeTimeOrdered())
            let message = OutgoingMessage(conversation: conversation, id: id, text: "message \(number)")
            _ = try await api.send(message, token: "token")
        }
        let outcome = try await Verification(api: api, token: "token", conversation: conversation).run()
        #expect(outcome.differences == differences)
        #expect(outcome.pages == 1 && outcome.positions == 11)
    }
}
