import Models
import Postgres
import Wire

/// A user reports a message or a person to the administrators. Nobody else learns of it.
struct CreateReport: WriteKind {
    struct Input: NamedFields {
        let message: Parameter<MessageID?>
        let user: Parameter<UserID?>
        let reason: Parameter<ReportReason>
        let text: Parameter<String?>
    }

    static let statement = PreparedWrite<Input>("create_report", PackageResources.create_report_sql, .store)

    let report: NewReport

    func set(_ input: Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.message, to: report.message)
        parameters.set(input.user, to: report.user)
        parameters.set(input.reason, to: report.reason)
        parameters.set(input.text, to: report.text.isEmpty ? nil : report.text)
    }

    var subject: UUIDBytes? { report.id.uuid }
    var changes: WriteChanges { .none }
    var status: UInt16 { 201 }
    var unchangedStatus: UInt16 { 200 }

    var content: WriteContent? {
        { queries, head in try await queries.report(report.id, of: head) }
    }

    /// What is refused does not say what others have reported, nor what there is that the reporter does not see.
    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .notFound: "there is no such conversation, or no such message or person in what you see of it"
        case .conflict:
            """
            the id was used for another report, as many reports are open as may be \
            (\(ContractLimits.openReportsPerReporter) of one user in a conversation), or the conversation is being imported
            """
        default: nil
        }
    }
}

/// An administrator records what they did about a report.
struct ResolveReport: WriteKind {
    struct Input: NamedFields {
        let done: Parameter<ReportAction>
        let note: Parameter<String?>
    }

    static let statement = PreparedWrite<Input>("resolve_report", PackageResources.resolve_report_sql, .store)

    let resolution: ReportResolution

    func set(_ input: Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.done, to: resolution.action)
        parameters.set(input.note, to: resolution.note.isEmpty ? nil : resolution.note)
    }

    var subject: UUIDBytes? { resolution.report.uuid }
    var changes: WriteChanges { .none }

    var content: WriteContent? {
        { queries, head in try await queries.report(ReportQuery(head, report: resolution.report)) }
    }

    func explanation(of code: Problem.Code) -> String? {
        code == .notFound ? Problem.unknownReport.detail : nil
    }
}
