/// The test account in every generated world; its credentials are not secret.
public enum SimulatorAccount {
    /// The email address.
    public static let user = "ada@example.org"
    /// The password.
    public static let password = "difference engine"
    /// The OAuth access token for Shelby 2012, valid without logging in.
    public static let oauthToken = "ada-oauth-token"
    /// The secret of the OAuth token for Shelby 2012.
    public static let oauthSecret = "ada-oauth-secret"
    /// The consumer key of a program that is registered with Shelby's OAuth server.
    public static let consumerKey = "sample-consumer-key"
    /// The secret of the consumer key.
    public static let consumerSecret = "sample-consumer-secret"
    /// The id of the Twitter account that is linked to the Shelby account.
    public static let twitterID = "100"
    /// The token for Shelby v1, valid without logging in.
    public static let authToken = "ada-auth-token"
}
