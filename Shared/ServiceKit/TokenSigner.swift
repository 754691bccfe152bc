import CJWT
import Glibc
import Models

/// Signs HS256 tokens for the command line and tests. In production the embedding application signs tokens.
public struct TokenSigner: Sendable {
    private let secret: String

    public init(secret: String) { self.secret = secret }

    public func token(for identity: Identity, issuer: String? = nil, audience: String? = nil) -> String {
        var token: OpaquePointer?
        guard jwt_new(&token) == 0, let token else { preconditionFailure("libjwt is out of memory") }
        defer { jwt_free(token) }
        jwt_add_grant(token, "sub", identity.user.name)
        jwt_add_grant_int(token, "exp", Int(identity.expiresAt.milliseconds / 1000))
        if let issuedAt = identity.issuedAt { jwt_add_grant_int(token, "iat", Int(issuedAt.milliseconds / 1000)) }
        if let device = identity.device { jwt_add_grant(token, "dev", device) }
        if let since = identity.accountSince { jwt_add_grant_int(token, "since", Int(since.milliseconds / 1000)) }
        if identity.isAdministrator { jwt_add_grant_bool(token, "adm", 1) }
        if let issuer { jwt_add_grant(token, "iss", issuer) }
        if let audience { jwt_add_grant(token, "aud", audience) }
        return encode(token)
    }

    private func encode(_ token: OpaquePointer) -> String {
        guard jwt_set_alg(token, JWT_ALG_HS256, secret, CInt(secret.utf8.count)) == 0,
            let text = jwt_encode_str(token)
        else { preconditionFailure("libjwt signs any claims") }
        defer { free(text) }
        return String(cString: text)
    }
}
