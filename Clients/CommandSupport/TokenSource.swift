import Glibc
import Models
import ServiceKit

/// Makes tokens with the secret of the system that the command talks to.
package struct TokenSource: Sendable {
    package static let option = CommandDescription.Option(
        "secret-file", "FILE",
        """
        the file with the secret that tokens are signed with; otherwise PARLEY_JWT_SECRET,
        PARLEY_JWT_SECRET_FILE, or jwt-secret in PARLEY_STATE (.parley)
        """)

    private let signer: TokenSigner

    package init(_ arguments: Arguments) throws(UsageError) {
        signer = TokenSigner(secret: try Self.secret(arguments, Environment.process))
    }

    package func token(
        for user: UserID, device: String? = nil, isAdministrator: Bool = false, lifetime: Duration = .seconds(86_400)
    ) -> String {
        let now = Timestamp.now
        let expiry = now.milliseconds + lifetime.components.seconds * 1000
        let identity = Identity(
            user: user, device: device, isAdministrator: isAdministrator, expiresAt: Timestamp(milliseconds: expiry),
            issuedAt: now)
        return signer.token(for: identity)
    }

    private static func secret(_ arguments: Arguments, _ environment: Environment) throws(UsageError) -> String {
        if let path = arguments.value(option.name) { return try content(of: path) }
        var environment = environment
        do throws(ConfigurationError) {
            if let secret = try environment.secret("PARLEY_JWT_SECRET") { return secret }
        } catch {
            throw UsageError(error.description)
        }
        return try content(of: environment.string("PARLEY_STATE", default: ".parley") + "/jwt-secret")
    }

    private static func content(of path: String) throws(UsageError) -> String {
        guard var text = readTextFile(path)?[...] else {
            throw UsageError("no secret in \(path): \(String(cString: strerror(errno))). Name it with --secret-file.")
        }
        while let last = text.last, last.isNewline { text.removeLast() }
        guard !text.isEmpty else { throw UsageError("the secret in \(path) is empty") }
        return String(text)
    }
}
