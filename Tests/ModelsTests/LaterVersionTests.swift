import Foundation
import Models
import Testing

/// A client meets servers that are newer than itself: what it does not know is passed over and never lost.
@Suite struct LaterVersionTests {
    private func decode<Value: Decodable>(_ json: String, as type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: Data(json.utf8))
    }

    @Test("a change of an unknown kind keeps its position")
    func change() throws {
        let change: Change = try decode(
            #"{"conversationId":"0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90","seq":7,"kind":"poll.reopened","#
                + #""at":"2026-03-07T17:04:11.302Z","actorId":"anna","poll":{"votes":[1]}}"#)
        #expect(change.kind == .unknown("poll.reopened") && change.kind.known == nil)
        #expect(change.seq == 7)
    }

    @Test("a private change of an unknown kind keeps its position")
    func privateChange() throws {
        let change: PrivateChange = try decode(
            #"{"useq":7,"kind":"snoozed","at":"2026-03-07T17:04:11.302Z","until":"2026-03-08T00:00:00.000Z"}"#)
        #expect(change.kind == .unknown("snoozed") && change.useq == 7)
    }

    @Test("a frame of an unknown type says its type")
    func frame() throws {
        #expect(try decode(#"{"type":"call","ringing":true}"#) == FrameFromServer.unknown(type: "call"))
    }

    @Test("a problem with an unknown code has a status to go by")
    func problem() throws {
        let problem: ProblemDetails = try decode(
            #"{"status":409,"title":"Not ready","code":"laterCode","detail":"attachments[0]: is processed"}"#)
        #expect(problem.code == .unknown("laterCode") && problem.status == 409)
    }

    @Test("a known name is the case, whatever stands beside it")
    func known() throws {
        #expect(Open<ChangeKind>("tapback.set") == .tapbackSet)
        #expect(Open<ChangeKind>("tapback.set") == .known(.tapbackSet))
        #expect(Open<ChangeKind>("tapback.set ") != .tapbackSet)
        #expect(Open<DeliveryStatus>("none") == .unknown("none"))
        #expect(try decode(#""❤️‍🔥""#, as: TapbackKind.self).name == "❤️‍🔥")
        #expect(try decode(#""shrug""#, as: TapbackKind.self).name == "shrug")
    }

    @Test("identifiers and times of another form are refused")
    func malformed() {
        #expect(throws: DecodingError.self) {
            try decode(#""0198C2A4-5D10-7C3E-9A41-3F0C5B7E2D90""#, as: MessageID.self)
        }
        #expect(throws: DecodingError.self) { try decode(#""anna smith""#, as: UserID.self) }
        #expect(throws: DecodingError.self) { try decode(#""yesterday""#, as: Timestamp.self) }
        #expect(throws: DecodingError.self) { try decode(#"{"anna smith":1}"#, as: [UserID: Int64].self) }
    }
}
