import Models
import Testing

@testable import ServiceKit

@Suite struct InvitationCodeTests {
    private let conversation = ConversationID(UUIDBytes("01900000-0000-7000-8000-00000000cafe")!)
    private let secret = UUIDBytes(high: 0xFBFF_FFFF_FFFF_FFFF, low: 1)

    @Test("a code is text for links, and reads back")
    func text() {
        let code = InvitationCode(conversation, secret: secret)
        #expect(code.text == "AZAAAAAAcACAAAAAAADK_vv_________AAAAAAAAAAE")
        #expect(InvitationCode(text: code.text) == code)
    }

    @Test("what is no code, or another notation of one, is none")
    func otherTexts() {
        let text = InvitationCode(conversation, secret: secret).text
        for other in [
            "", "code", text + "=", text + "A", String(text.dropLast()), String(text.dropLast()) + "F",
            "é" + String(text.dropLast(2)),
            text.replacing("_", with: "/"), String(repeating: "A", count: 43),
        ] {
            #expect(InvitationCode(text: other) == nil, "\(other)")
        }
    }

    @Test("no two codes have one secret, and a secret has one hash, which is kept")
    func secrets() {
        var random = SystemRandomNumberGenerator()
        let codes = (0..<100).map { _ in InvitationCode(for: conversation, from: &random) }
        #expect(Set(codes.map(\.secret)).count == 100 && codes.allSatisfy { $0.conversation == conversation })
        #expect(InvitationCode.hash(of: secret) == UUIDBytes("c2f527f0-9d5d-3732-1eff-6563f873870a")!)
        #expect(Set(codes.map { InvitationCode.hash(of: $0.secret) }).count == 100)
    }
}
