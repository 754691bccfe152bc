import CommandSupport
import Reactor

/// `parley token`: prints a token for a user.
struct TokenCommand: Command {
    static let description = CommandDescription(
        name: "token", summary: "Prints a token that says who a user is.",
        options: [
            .init("user", "USER", "whom the token is for"),
            .init("device", "NAME", "the device it is for: a second session of a device ends the first"),
            .init("admin", nil, "let it act for every user"),
            .init("ttl", "TIME", "how long it is valid, such as 30s, 10m or 24h (default 24h)"),
            TokenSource.option,
        ],
        details:
            "The token is signed by HS256. Systems that verify by a public key get theirs from whoever has the private one."
    )

    private let token: String

    init(_ arguments: Arguments) throws(UsageError) {
        let user = try arguments.user("user")
        let lifetime = try arguments.duration("ttl") ?? .seconds(86_400)
        token = try TokenSource(arguments).token(
            for: user, device: arguments.value("device"), isAdministrator: arguments.flag("admin"), lifetime: lifetime)
    }

    @Reactor func run() async -> Int32 {
        Terminal.say(token)
        return 0
    }
}
