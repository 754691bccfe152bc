import Foundation
import Models

/// Texts that a message may have.
enum MessageText {
    static func isValid(_ text: String) -> Bool {
        text.utf8.count <= ContractLimits.textBytes && !isBlank(text) && !text.utf8.contains(0)
    }

    /// Whether it is base64 in its one form, as a sealed message has it.
    static func isSealed(_ text: String) -> Bool {
        text.utf8.count <= ContractLimits.sealedBytes && !text.isEmpty
            && Data(base64Encoded: text)?.base64EncodedString() == text
    }

    static func isBlank(_ text: String) -> Bool { text.unicodeScalars.allSatisfy(\.properties.isWhitespace) }

    /// The part of a name that a title may have; nil of a blank one.
    static func title(_ name: String) -> String? {
        let title = cut(name)
        return isBlank(title) ? nil : title
    }

    static func cut(_ name: String) -> String {
        String(
            String.UnicodeScalarView(
                name.unicodeScalars.filter { $0.value != 0 }.prefix(ContractLimits.titleCharacters)))
    }

    /// Divides a text into such as one message may have, between scalars: a character may be longer than a message.
    static func divided(_ text: String) -> [String] {
        guard text.utf8.count > ContractLimits.textBytes else { return [text] }
        var pieces: [String] = []
        var piece = ""
        var bytes = 0
        for scalar in text.unicodeScalars.lazy.map({ String($0) }) {
            if bytes + scalar.utf8.count > ContractLimits.textBytes {
                pieces.append(piece)
                (piece, bytes) = ("", 0)
            }
            piece += scalar
            bytes += scalar.utf8.count
        }
        return (pieces + [piece]).map { isBlank($0) ? "(blank)" : $0 }
    }
}
