import CommandSupport
import Foundation
import Testing

@Suite struct HarmlessJSONTests {
    @Test("what could steer a terminal is escaped, and the JSON says the same")
    func escapes() throws {
        let text = "a\u{7F}\u{80}\u{85}\u{9B}31m\u{9F}\u{A0}é\u{C2}€🧗"
        let json = "{\"text\":\"\(text)\"}"
        let harmless = Array(json.utf8).withUnsafeBytes(HarmlessJSON.text)
        #expect(!harmless.unicodeScalars.contains { (0x7F...0x9F).contains($0.value) })
        #expect(harmless.hasPrefix(#"{"text":"a\u007f\u0080\u0085\u009b31m\u009f"#))
        #expect(try JSONDecoder().decode([String: String].self, from: Data(harmless.utf8)) == ["text": text])
    }
}
