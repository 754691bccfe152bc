import Archives
import Foundation
import Models

public typealias SchemaType = Codable & Sendable

/// The Swift type of each schema of `openapi.json`: what a client decodes into and encodes from.
public enum SchemaTypes {
    public static let all: [String: any (SchemaType).Type] = objects.merging(values) { first, _ in first }
        .merging(serverFrames) { first, _ in first }

    private static let objects: [String: any (SchemaType).Type] = [
        "Act": Act.self,
        "ActPage": ActPage.self,
        "Attachment": Attachment.self,
        "AttachmentReference": RequestBody.AttachmentReference.self,
        "Batch": RequestBody.Batch.self,
        "Ban": Ban.self,
        "BanPage": BanPage.self,
        "BareReference": Reference.self,
        "BatchMessage": RequestBody.BatchMessage.self,
        "BatchResult": BatchResults.Result.self,
        "BatchResults": BatchResults.self,
        "CallCost": Limits.Cost.self,
        "Change": Change.self,
        "ChangePage": ChangePage.self,
        "ChangedMessage": Message.self,
        "Conversation": Conversation.self,
        "ConversationPage": ConversationPage.self,
        "ConversationSettings": SettingsInConversation.self,
        "CreatedConversation": CreatedConversation.self,
        "DatedTapback": TapbackPage.Entry.self,
        "Device": Device.self,
        "DeviceList": DeviceList.self,
        "DigestPage": HistoryDigest.self,
        "Draft": KeptDraft.self,
        "Edit": RequestBody.Edit.self,
        "Erasure": Erasure.self,
        "ErasureCounts": Erasure.Counts.self,
        "History": History.self,
        "ImportEnd": ImportRecord.self,
        "ImportRecord": ImportRecord.self,
        "ImportResult": ImportResult.self,
        "ImportedConversation": ImportRecord.self,
        "ImportedMemberChange": ImportRecord.self,
        "ImportedMessage": ImportRecord.self,
        "ImportedReceipt": ImportRecord.self,
        "ImportedTapback": ImportRecord.self,
        "ImportedTitle": ImportRecord.self,
        "LifetimeSeconds": Int.self,
        "Limits": Limits.self,
        "MediaFile": MediaFile.self,
        "Member": Membership.self,
        "MemberPage": MemberPage.self,
        "MemberRole": RequestBody.Role.self,
        "Message": Message.self,
        "MessageCore": Message.self,
        "MessageLifetime": MessageLifetime.self,
        "MessagePin": MessagePin.self,
        "MessageCounts": FrameFromServer.Status.Counts.self,
        "NewArchive": RequestBody.NewArchive.self,
        "NewConversation": RequestBody.NewConversation.self,
        "NewConversationSettings": RequestBody.NewSettingsInConversation.self,
        "NewDraft": RequestBody.NewDraft.self,
        "NewMessage": RequestBody.NewMessage.self,
        "NewInvitation": RequestBody.NewInvitation.self,
        "NewMute": RequestBody.NewMute.self,
        "NewMessageLifetime": RequestBody.NewMessageLifetime.self,
        "NewPermissions": RequestBody.NewPermissions.self,
        "NewPin": RequestBody.NewPin.self,
        "NewProfile": RequestBody.NewProfile.self,
        "NewSettings": RequestBody.NewSettings.self,
        "NewTapback": RequestBody.NewTapback.self,
        "Invitation": Invitation.self,
        "InvitationList": InvitationList.self,
        "InvitationPreview": InvitationPreview.self,
        "AskedToJoin": AskedToJoin.self,
        "JoinRequest": JoinRequest.self,
        "JoinRequestPage": JoinRequestPage.self,
        "NewReport": RequestBody.NewReport.self,
        "NewResolution": RequestBody.NewResolution.self,
        "NewSuspension": RequestBody.NewSuspension.self,
        "PageDigest": HistoryDigest.Page.self,
        "Permissions": Permissions.self,
        "PinnedMessages": PinnedMessages.self,
        "MentionPage": MentionPage.self,
        "PrivateChange": PrivateChange.self,
        "Problem": ProblemDetails.self,
        "Profile": Profile.self,
        "ProfileList": ProfileList.self,
        "Readiness": ServiceReadiness.self,
        "Receipt": RequestBody.Receipt.self,
        "ReceiptItem": FrameFromClient.ReceiptPosition.self,
        "ReceiptPage": ReceiptPage.self,
        "ReceiptTime": Receipt.self,
        "ReceiptTimes": [Receipt].self,
        "Reference": Reference.self,
        "Renaming": RequestBody.Renaming.self,
        "Report": Report.self,
        "ReportPage": ReportPage.self,
        "ReportResolution": Report.Resolution.self,
        "ReportedMessage": Report.Copy.self,
        "Revision": Revision.self,
        "Revisions": Revisions.self,
        "SearchPage": SearchPage.self,
        "SearchResult": SearchResult.self,
        "Settings": Settings.self,
        "SignedMedia": SignedMedia.self,
        "SignedThumbnails": SignedMedia.Thumbnails.self,
        "Suspension": Suspension.self,
        "SyncPage": SyncPage.self,
        "SystemEvent": SystemEvent.self,
        "Tapback": Tapback.self,
        "TapbackCounts": [TapbackKind: Int].self,
        "TapbackPage": TapbackPage.self,
        "Thumbnail": MediaFile.Thumbnail.self,
        "BlockList": BlockList.self,
        "BlockedUser": BlockedUser.self,
        "MessageRequest": MessageRequest.self,
        "MessageRequestList": MessageRequestList.self,
        "UnreadSummary": UnreadSummary.self,
        "Window": Window.self,
    ]

    private static let values: [String: any (SchemaType).Type] = [
        "AvatarURL": String.self,
        "ByeCode": Open<ByeCode>.self,
        "ChangeKind": Open<ChangeKind>.self,
        "ChosenID": MessageID.self,
        "ConversationKind": Open<ConversationKind>.self,
        "Cursor": String.self,
        "DeliveryStatus": Open<DeliveryStatus>.self,
        "DeviceID": String.self,
        "DisplayName": String.self,
        "ImportedChangeKind": ImportRecord.MemberChange.Change.self,
        "ImportedReceiptKind": ImportRecord.Receipt.Kind.self,
        "InheritedSetting": Open<InheritedSetting>.self,
        "InvitationCode": String.self,
        "MediaState": Open<MediaState>.self,
        "MessageKind": Open<MessageKind>.self,
        "NewText": String.self,
        "Sealed": String.self,
        "PermittedRoles": Open<PermittedRoles>.self,
        "PinOrder": Int64.self,
        "PrivateKind": Open<PrivateKind>.self,
        "ProblemCode": Open<Problem.Code>.self,
        "SuspensionMode": Open<SuspensionMode>.self,
        "ProfileExtra": [String: JSONValue].self,
        "MessageExtra": [String: JSONValue].self,
        "ProfileWriters": Open<ProfileWriters>.self,
        "MessageRequests": Open<MessageRequests>.self,
        "ReportAction": Open<ReportAction>.self,
        "ReportReason": Open<ReportReason>.self,
        "Role": Open<MemberRole>.self,
        "SHA256": String.self,
        "Seq": Int64.self,
        "SeqOrZero": Int64.self,
        "SystemEventKind": Open<SystemEventKind>.self,
        "TapbackKind": TapbackKind.self,
        "ThumbnailSize": Open<ThumbnailSize>.self,
        "Time": Timestamp.self,
        "Title": String.self,
        "UUID": UUIDBytes.self,
        "UserID": UserID.self,
    ]

    private static let serverFrames: [String: any (SchemaType).Type] = Dictionary(
        uniqueKeysWithValues: [
            "ByeFrame", "ChangeFrame", "PongFrame", "PresenceFrame", "PrivateFrame", "ProfileFrame", "ReloadFrame",
            "ResetFrame", "StatusFrame", "TokenExpiringFrame", "TypingNotice", "WelcomeFrame",
        ].map { ($0, FrameFromServer.self) })

    /// Those that a client only writes: `FrameFromClient`.
    public static let clientFrames: Set = ["AuthFrame", "HelloFrame", "PingFrame", "ReceiptFrame", "TypingFrame"]

    /// The names that an enumeration has.
    public static let names: [String: [String]] = [
        "ByeCode": names(ByeCode.self),
        "SuspensionMode": names(SuspensionMode.self),
        "ChangeKind": names(ChangeKind.self),
        "ConversationKind": names(ConversationKind.self),
        "DeliveryStatus": names(DeliveryStatus.self),
        "ImportedChangeKind": ImportRecord.MemberChange.Change.allCases.map(\.rawValue),
        "ImportedReceiptKind": ImportRecord.Receipt.Kind.allCases.map(\.rawValue),
        "InheritedSetting": names(InheritedSetting.self),
        "MediaState": names(MediaState.self),
        "MessageKind": names(MessageKind.self),
        "PermittedRoles": names(PermittedRoles.self),
        "PrivateKind": names(PrivateKind.self),
        "ProblemCode": names(Problem.Code.self),
        "ProfileWriters": names(ProfileWriters.self),
        "MessageRequests": names(MessageRequests.self),
        "ReportAction": names(ReportAction.self),
        "ReportReason": names(ReportReason.self),
        "Role": names(MemberRole.self),
        "SystemEventKind": names(SystemEventKind.self),
        "ThumbnailSize": names(ThumbnailSize.self),
    ]

    public static func names<Name: ContractName>(_: Name.Type) -> [String] {
        Name.contractCases.map(\.name.description)
    }

    /// What is left of a JSON value that was decoded into the schema's type and encoded again. Nil when it has no type.
    public static func recode(_ json: Data, as schema: String) throws -> Data? {
        guard let type = all[schema] else { return nil }
        return try recode(json, type)
    }

    private static func recode<Value: SchemaType>(_ json: Data, _ type: Value.Type) throws -> Data {
        try JSONEncoder().encode(JSONDecoder().decode(type, from: json))
    }
}
