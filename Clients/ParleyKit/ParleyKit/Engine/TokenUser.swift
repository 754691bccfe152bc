import Foundation

/// Whose a token is, by its claim `sub`. Nothing is verified: the server alone decides what a token is worth.
enum TokenUser {
    private struct Claims: Decodable {
        let sub: String
    }

    /// Nil for a token that is not of the form that the contract has.
    static func name(in token: String) -> String? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let payload = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        let padding = String(repeating: "=", count: (4 - payload.count % 4) % 4)
        guard let json = Data(base64Encoded: payload + padding) else { return nil }
        return (try? JSONDecoder().decode(Claims.self, from: json))?.sub
    }
}
