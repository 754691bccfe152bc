extension TokenVerifier {
    /// The verifier that `PARLEY_JWT_*` describe: exactly one key, and optionally issuer and audience.
    public init(environment: inout Environment) throws(ConfigurationError) {
        let key = try Self.key(&environment)
        let policy = Policy(
            issuer: environment.optionalString("PARLEY_JWT_ISSUER"),
            audience: environment.optionalString("PARLEY_JWT_AUDIENCE"))
        self.init(key: key, policy: policy)
    }

    private static func key(_ environment: inout Environment) throws(ConfigurationError) -> TokenKey {
        let secret = try environment.secret("PARLEY_JWT_SECRET")
        let publicKey = try environment.file("PARLEY_JWT_PUBLIC_KEY_FILE")
        switch (secret, publicKey) {
        case (let secret?, nil):
            return try key("PARLEY_JWT_SECRET") { () throws(TokenKeyError) in try TokenKey(secret: secret) }
        case (nil, let pem?):
            return try key("PARLEY_JWT_PUBLIC_KEY_FILE") { () throws(TokenKeyError) in try TokenKey(publicKeyPEM: pem) }
        case (nil, nil):
            throw ConfigurationError(
                "PARLEY_JWT_SECRET", "or PARLEY_JWT_SECRET_FILE or PARLEY_JWT_PUBLIC_KEY_FILE must be set")
        case (_?, _?):
            throw ConfigurationError("PARLEY_JWT_SECRET", "must not be set together with PARLEY_JWT_PUBLIC_KEY_FILE")
        }
    }

    private static func key(
        _ variable: String, _ make: () throws(TokenKeyError) -> TokenKey
    ) throws(ConfigurationError) -> TokenKey {
        do throws(TokenKeyError) { return try make() } catch { throw ConfigurationError(variable, error.description) }
    }
}
