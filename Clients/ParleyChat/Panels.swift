import Models
import ParleyKit
import ParleyPresentation
import ParleyStorage

/// The search: words, and what was found; or what is pinned in a conversation.
struct SearchPanel: Equatable {
    /// Nil: the search.
    var pinnedIn: ConversationID?
    var editor = TextEditor()
    var results: [Message] = []
    /// Whether `results` belong to the words.
    var isAnswered = false
    var index = 0

    var query: String { editor.text }

    mutating func take(_ messages: [Message]) {
        let marked = results.indices.contains(index) ? results[index].id : nil
        results = messages
        isAnswered = true
        index = messages.firstIndex { $0.id == marked } ?? 0
    }

    mutating func move(by offset: Int) { index = max(0, min(results.count - 1, index + offset)) }

    var selected: Message? { results.indices.contains(index) ? results[index] : nil }
}

/// A conversation that is being begun.
struct NewConversationPanel: Equatable {
    var names = TextEditor()
    var title = TextEditor()
    var isAtTitle = false
    var problem: String?

    /// What to create; nil and a problem if that is not possible.
    mutating func effect(for user: UserID) -> ChatEffect? {
        do throws(WritingProblem) {
            problem = nil
            if let code = InvitationLink.code(in: names.text) { return .lookAtInvitation(code) }
            let users = try WrittenText.users(names.text)
            if users.contains(user) { throw WritingProblem("You are in it anyway: name the others.") }
            let title = try WrittenText.title(title.text)
            if users.count == 1, title.isEmpty { return .direct(users[0]) }
            return .createGroup(users, title: title.isEmpty ? nil : title)
        } catch {
            problem = error.text
            return nil
        }
    }
}

/// A conversation's title and members, and what is being changed about them.
struct DetailsPanel: Equatable {
    enum Step: Equatable {
        case looking
        case title(TextEditor)
        case adding(TextEditor)
        /// Whether to do it is asked.
        case removing(UserID)
        case leaving
        /// Who may do what; the one that is marked.
        case permissions(Int)
        /// Who was removed: nil until it is loaded; the one that is marked.
        case bans([Ban]?, Int)
        case invitations(InvitationsStep)
        /// Who asks to join: nil until it is loaded; the one that is marked.
        case joinRequests([JoinRequest]?, Int)
    }

    var step = Step.looking
    var marked: UserID?
    /// The user's settings in this conversation; nil until they are loaded.
    var settings: SettingsInConversation?
}

/// The invitations of a group.
struct InvitationsStep: Equatable {
    /// Nil until they are loaded.
    var invitations: [Invitation]?
    /// The one that is marked.
    var index = 0
    /// The code of the one that was just made: it is told once.
    var code: String?

    mutating func take(_ invitations: [Invitation]) {
        self.invitations = invitations
        index = max(0, min(index, invitations.count - 1))
    }
}

/// A link of an invitation: any address, or none, with the code in its fragment.
enum InvitationLink {
    private static let mark = "#invite="

    static func text(_ code: String) -> String { mark + code }

    /// Nil if the text is no link of an invitation.
    static func code(in text: String) -> String? {
        guard let mark = text.firstRange(of: mark) else { return nil }
        return String(text[mark.upperBound...].prefix { !$0.isWhitespace && $0 != "&" })
    }
}

/// A group that the user may join by a code.
struct JoiningPanel: Equatable {
    let code: String
    let preview: InvitationPreview
}

/// The user's own settings.
struct SettingsPanel: Equatable {
    var index = 0
    /// The user's own name, while it is being written.
    var name: TextEditor?
    /// In place of the settings, once asked for.
    var devices: DevicesStep?

    /// Behind them come those whom the user has blocked.
    static let choices = 2
}

/// The devices of the user.
struct DevicesStep: Equatable {
    /// Nil until they are loaded.
    var devices: [Device]?
    var index = 0
    /// Whether to end all others is asked.
    var endsOthers = false

    mutating func take(_ devices: [Device]) {
        self.devices = devices
        index = max(0, min(index, devices.count - 1))
    }
}

/// Somebody who is reported, or a message of theirs.
struct ReportPanel: Equatable {
    let user: UserID
    let message: MessageID?
    var reason = ReportReason.spam
    var text = TextEditor()
    /// What was sent last: sent again as it is, it is the same report.
    private(set) var report: NewReport?

    mutating func move(by offset: Int) {
        let all = ReportReason.allCases
        reason = all[max(0, min(all.count - 1, all.firstIndex(of: reason)! + offset))]
    }

    mutating func send() -> NewReport {
        let text = text.text.allSatisfy(\.isWhitespace) ? nil : text.text
        if let report, report.reason == reason, report.text == text { return report }
        let new = message.map { NewReport(of: $0, reason, text: text) } ?? NewReport(of: user, reason, text: text)
        report = new
        return new
    }
}

/// A file that is to be sent, with what is being written.
struct AttachPanel: Equatable {
    var path = TextEditor()
}

/// A file of a message that is to be saved.
struct SavePanel: Equatable {
    let files: [AttachmentRow]
    var index = 0
    var path: TextEditor

    init?(_ row: TimelineRow) {
        guard let first = row.attachments.first else { return nil }
        files = row.attachments
        path = TextEditor(SafeFileName.of(first.attachment.name))
    }

    var file: AttachmentRow { files[index] }

    mutating func next() {
        index = (index + 1) % files.count
        path = TextEditor(SafeFileName.of(file.attachment.name))
    }
}

/// What a message said before.
struct RevisionsPanel: Equatable {
    let message: MessageID
    /// Oldest first; none until they are loaded.
    var revisions: [Revision] = []
    /// The first line that is shown.
    var top = 0
}

/// What is wrong with a text that the user has written.
struct WritingProblem: Error {
    let text: String

    init(_ text: String) { self.text = text }
}

/// What a user has written in a field of a panel.
enum WrittenText {
    /// Names with spaces or commas between them; at least one.
    static func users(_ text: String) throws(WritingProblem) -> [UserID] {
        let words = text.split { $0.isWhitespace || $0 == "," }
        let users = words.compactMap { UserID(String($0)) }
        if words.isEmpty { throw WritingProblem("Name at least one other user.") }
        guard users.count == words.count else {
            throw WritingProblem("A name is up to 64 characters of A-Z a-z 0-9 . _ - @ : +")
        }
        guard users.count < ContractLimits.membersPerRequest else {
            throw WritingProblem("These are too many for one request.")
        }
        return users
    }

    static func title(_ text: String) throws(WritingProblem) -> String {
        guard text.unicodeScalars.count <= ContractLimits.titleCharacters else {
            throw WritingProblem("The title is longer than \(ContractLimits.titleCharacters) characters.")
        }
        return HarmlessText.line(text, limit: ContractLimits.titleCharacters)
    }
}
